/*
 * How cards lie to each other: boards, levels of PCI, peers, NVLink, the unit that holds them.
 *
 * Two neighbours share a switch, four a host bridge, all one machine. With SIMGPU_CHASSIS=on two
 * neighbours are on one board as well, each card has a link to each other, and there is a unit.
 */
#include "nvml_sim.h"

static bool same(const unsigned int one, const unsigned int other, const unsigned int group)
{
	return one / group == other / group;
}

static nvmlGpuTopologyLevel_t level_of(const unsigned int one, const unsigned int other)
{
	if (one == other)
		return NVML_TOPOLOGY_INTERNAL;
	if (same(one, other, 2))
		return NVML_TOPOLOGY_SINGLE;
	return same(one, other, 4) ? NVML_TOPOLOGY_HOSTBRIDGE : NVML_TOPOLOGY_NODE;
}

/* Also false when `to` is NULL. */
static bool pair(nvmlDevice_t one, nvmlDevice_t other, const void *to, unsigned int at[2])
{
	return nvml_card(one, &at[0]) && nvml_card(other, &at[1]) && to;
}

NVAPI(nvmlDeviceGetBoardId, (nvmlDevice_t device, unsigned int *boardId), (device, boardId))
{
	unsigned int i;

	if (!nvml_card(device, &i) || !boardId)
		return NVML_ERROR_INVALID_ARGUMENT;
	*boardId = ((config_get()->chassis ? i / 2 : i) + 1) << 20;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetMultiGpuBoard, (nvmlDevice_t device, unsigned int *multiGpuBool),
      (device, multiGpuBool))
{
	unsigned int i;

	if (!nvml_card(device, &i) || !multiGpuBool)
		return NVML_ERROR_INVALID_ARGUMENT;
	*multiGpuBool = config_get()->chassis && (i ^ 1U) < config_get()->cards;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceOnSameBoard, (nvmlDevice_t device1, nvmlDevice_t device2, int *onSameBoard),
      (device1, device2, onSameBoard))
{
	unsigned int at[2];

	if (!pair(device1, device2, onSameBoard, at))
		return NVML_ERROR_INVALID_ARGUMENT;
	*onSameBoard = same(at[0], at[1], config_get()->chassis ? 2 : 1);
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetP2PStatus,
      (nvmlDevice_t device1, nvmlDevice_t device2, nvmlGpuP2PCapsIndex_t p2pIndex,
       nvmlGpuP2PStatus_t *p2pStatus),
      (device1, device2, p2pIndex, p2pStatus))
{
	unsigned int at[2];

	if (!pair(device1, device2, p2pStatus, at) || p2pIndex >= NVML_P2P_CAPS_INDEX_UNKNOWN)
		return NVML_ERROR_INVALID_ARGUMENT;
	*p2pStatus = level_of(at[0], at[1]) <= NVML_TOPOLOGY_HOSTBRIDGE ?
			     NVML_P2P_STATUS_OK :
			     NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetTopologyCommonAncestor,
      (nvmlDevice_t device1, nvmlDevice_t device2, nvmlGpuTopologyLevel_t *pathInfo),
      (device1, device2, pathInfo))
{
	unsigned int at[2];

	if (!pair(device1, device2, pathInfo, at))
		return NVML_ERROR_INVALID_ARGUMENT;
	*pathInfo = level_of(at[0], at[1]);
	return NVML_SUCCESS;
}

/* The cards at a level of card `from`, all where `from` is CARDS_MAX: with a count of 0 only their
 * number, else as many as there is room for. */
static nvmlReturn_t list(const unsigned int from, const nvmlGpuTopologyLevel_t level,
			 unsigned int *count, nvmlDevice_t *devices)
{
	const unsigned int room = *count;
	unsigned int i, n = 0;

	if (room && !devices)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (i = 0; i < config_get()->cards; i++) {
		if (from != CARDS_MAX && (i == from || level_of(from, i) != level))
			continue;
		if (n < room)
			devices[n] = nvml_handle(i);
		n++;
	}
	*count = room && room < n ? room : n;
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetTopologyNearestGpus,
      (nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int *count,
       nvmlDevice_t *deviceArray),
      (device, level, count, deviceArray))
{
	unsigned int from;

	if (!nvml_card(device, &from) || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	return list(from, level, count, deviceArray);
}

NVAPI(nvmlSystemGetTopologyGpuSet,
      (unsigned int cpuNumber, unsigned int *count, nvmlDevice_t *deviceArray),
      (cpuNumber, count, deviceArray))
{
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	return list(CARDS_MAX, NVML_TOPOLOGY_INTERNAL, count, deviceArray);
}

/* The card at the other end of a link. */
static nvmlReturn_t peer(nvmlDevice_t device, const unsigned int link, const void *to,
			 const struct card **card)
{
	const struct config *const c = config_get();
	unsigned int i;

	if (!nvml_card(device, &i) || !to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!c->chassis)
		return NVML_ERROR_NOT_SUPPORTED;
	if (link + 1 >= c->cards)
		return NVML_ERROR_INVALID_ARGUMENT;
	*card = &c->card[(i + 1 + link) % c->cards];
	return NVML_SUCCESS;
}

NVAPI(nvmlDeviceGetNvLinkState,
      (nvmlDevice_t device, unsigned int link, nvmlEnableState_t *isActive),
      (device, link, isActive))
{
	const struct card *card;
	const nvmlReturn_t rc = peer(device, link, isActive, &card);

	if (rc == NVML_SUCCESS)
		*isActive = NVML_FEATURE_ENABLED;
	return rc;
}

NVAPI(nvmlDeviceGetNvLinkRemoteDeviceType,
      (nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *pNvLinkDeviceType),
      (device, link, pNvLinkDeviceType))
{
	const struct card *card;
	const nvmlReturn_t rc = peer(device, link, pNvLinkDeviceType, &card);

	if (rc == NVML_SUCCESS)
		*pNvLinkDeviceType = NVML_NVLINK_DEVICE_TYPE_GPU;
	return rc;
}

NVAPI(nvmlDeviceGetNvLinkRemotePciInfo_v2,
      (nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci), (device, link, pci))
{
	const struct card *card;
	const nvmlReturn_t rc = peer(device, link, pci, &card);

	if (rc == NVML_SUCCESS)
		nvml_fill_pci(card, pci, true);
	return rc;
}

NVAPI(nvmlDeviceGetNvLinkRemotePciInfo,
      (nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci), (device, link, pci))
{
	const struct card *card;
	const nvmlReturn_t rc = peer(device, link, pci, &card);

	if (rc == NVML_SUCCESS)
		nvml_fill_pci(card, pci, false);
	return rc;
}

static const char unit_byte;

NVAPI(nvmlUnitGetCount, (unsigned int *unitCount), (unitCount))
{
	if (!unitCount)
		return NVML_ERROR_INVALID_ARGUMENT;
	*unitCount = config_get()->chassis;
	return NVML_SUCCESS;
}

NVAPI(nvmlUnitGetHandleByIndex, (unsigned int index, nvmlUnit_t *unit), (index, unit))
{
	if (!unit || index >= config_get()->chassis)
		return NVML_ERROR_INVALID_ARGUMENT;
	*unit = (nvmlUnit_t)(uintptr_t)&unit_byte;
	return NVML_SUCCESS;
}

NVAPI(nvmlUnitGetDevices, (nvmlUnit_t unit, unsigned int *deviceCount, nvmlDevice_t *devices),
      (unit, deviceCount, devices))
{
	const unsigned int cards = config_get()->cards;
	unsigned int i;

	if ((const char *)unit != &unit_byte || !deviceCount || !devices)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (*deviceCount < cards) {
		*deviceCount = cards;
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	for (i = 0; i < cards; i++)
		devices[i] = nvml_handle(i);
	*deviceCount = cards;
	return NVML_SUCCESS;
}
