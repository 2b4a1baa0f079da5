# A limit for each user of a JupyterHub: all notebooks of a user share it, and 4 GiB of it are kept for the user.
# Before, on each machine with a card: sudo mkdir -m 1777 /run/cuquota    (the ledgers, seen by all)
#
# A spawner that starts containers must mount the library and that folder into them, as examples/compose does.
c.Spawner.environment = {
    "LD_PRELOAD": "/usr/local/lib/libcuquota.so",
    "CUQUOTA_MEMORY_LIMIT": "8G",
    "CUQUOTA_MEMORY_REQUEST": "4G",
    "CUQUOTA_TENANT": lambda spawner: "user-" + spawner.user.name,
}
