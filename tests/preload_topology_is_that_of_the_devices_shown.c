/*
 * How devices lie to each other in NVML, under a visible list: every pair of shown ones is answered
 * as without the list; lists hold the shown ones only, by NVML's protocol of two calls; a board
 * whose other GPU is hidden is one of a single GPU; a link to a hidden one is down.
 */
#include "cards.h"

static int level[CARDS][CARDS], peers[CARDS][CARDS], board[CARDS][CARDS];

static void pair(nvmlDevice_t a, nvmlDevice_t b, int *l, int *p, int *s)
{
	nvmlGpuTopologyLevel_t topology;
	nvmlGpuP2PStatus_t status;

	CHECK_EQ(ML(nvmlDeviceGetTopologyCommonAncestor)(a, b, &topology), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceGetP2PStatus)(a, b, NVML_P2P_CAPS_INDEX_READ, &status), NVML_SUCCESS);
	CHECK_EQ(ML(nvmlDeviceOnSameBoard)(a, b, s), NVML_SUCCESS);
	*l = (int)topology;
	*p = (int)status;
}

static void pairs(const char *visible)
{
	const unsigned count = (unsigned)strlen(visible);

	for (unsigned a = 0; a < count; a++)
		for (unsigned b = 0; b < count; b++) {
			const int i = visible[a] - '0', k = visible[b] - '0';
			int l, p, s;

			pair(device_at(a), device_at(b), &l, &p, &s);
			CHECK_EQ(l, level[i][k]);
			CHECK_EQ(p, peers[i][k]);
			CHECK_EQ(s, board[i][k]);
		}
}

static const nvmlDevice_t untouched = (nvmlDevice_t)0x5a5a;

/* Those found must be the `want` shown ones, in order, and no more written than that. */
static void are(const nvmlDevice_t *found, const nvmlDevice_t *want, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		CHECK_EQ((uintptr_t)found[i], (uintptr_t)want[i]);
	CHECK_EQ((uintptr_t)found[count], (uintptr_t)untouched);
}

#define LIST(want, most, call)                                         \
	for (unsigned room = 0; room <= CARDS; room++) {               \
		nvmlDevice_t found[CARDS + 1];                         \
		unsigned count = room;                                 \
		for (int f = 0; f <= CARDS; f++)                       \
			found[f] = untouched;                          \
		CHECK_EQ((call), NVML_SUCCESS);                        \
		CHECK_EQ(count, room &&room < (most) ? room : (most)); \
		are(found, (want), room ? count : 0);                  \
	}

static void nearest(const char *visible, unsigned of)
{
	static const int levels[] = {NVML_TOPOLOGY_SINGLE, NVML_TOPOLOGY_HOSTBRIDGE,
				     NVML_TOPOLOGY_NODE};
	const nvmlDevice_t device = device_at(of);

	for (int l = 0; l < 3; l++) {
		nvmlDevice_t want[CARDS];
		unsigned n = 0, none = 1;

		for (unsigned k = 0; visible[k]; k++)
			if (k != of && level[visible[of] - '0'][visible[k] - '0'] == levels[l])
				want[n++] = device_at(k);
		LIST(want, n,
		     ML(nvmlDeviceGetTopologyNearestGpus)(device, levels[l], &count, found));
		CHECK_EQ(ML(nvmlDeviceGetTopologyNearestGpus)(device, levels[l], &none, NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
	}
	CHECK_EQ(ML(nvmlDeviceGetTopologyNearestGpus)(device, levels[0], NULL, NULL),
		 NVML_ERROR_INVALID_ARGUMENT);
}

/* Here too little room is refused. */
static void chassis(const nvmlDevice_t *want, unsigned n)
{
	nvmlDevice_t found[CARDS + 1];
	unsigned count = n - 1;
	nvmlUnit_t unit;

	CHECK_EQ(ML(nvmlUnitGetHandleByIndex)(0, &unit), NVML_SUCCESS);
	for (int f = 0; f <= CARDS; f++)
		found[f] = untouched;
	CHECK_EQ(ML(nvmlUnitGetDevices)(unit, &count, found), NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK_EQ(count, n);
	are(found, want, 0);
	CHECK_EQ(ML(nvmlUnitGetDevices)(unit, &count, found), NVML_SUCCESS);
	CHECK_EQ(count, n);
	are(found, want, n);
	CHECK_EQ(ML(nvmlUnitGetDevices)(unit, NULL, found), NVML_ERROR_INVALID_ARGUMENT);
}

static void lists(const char *visible)
{
	const unsigned n = (unsigned)strlen(visible);
	nvmlDevice_t want[CARDS];

	for (unsigned k = 0; k < n; k++)
		want[k] = device_at(k);
	LIST(want, n, ML(nvmlSystemGetTopologyGpuSet)(0, &count, found));
	chassis(want, n);
}

/* Link l of card i leads to card i + 1 + l. */
static void links(const char *visible, unsigned of)
{
	const nvmlDevice_t device = device_at(of);
	const unsigned i = (unsigned)(visible[of] - '0');

	for (unsigned l = 0; l + 1 < CARDS; l++) {
		const unsigned far = (i + 1 + l) % CARDS;
		const bool shown = is_visible(visible, far);
		const nvmlReturn_t want = shown ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
		nvmlIntNvLinkDeviceType_t type;
		nvmlEnableState_t state;
		nvmlPciInfo_t pci = {.bus = 0}, old = {.bus = 0};

		CHECK_EQ(ML(nvmlDeviceGetNvLinkState)(device, l, &state), NVML_SUCCESS);
		CHECK_EQ((int)state, shown ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED);
		CHECK_EQ(ML(nvmlDeviceGetNvLinkRemotePciInfo_v2)(device, l, &pci), want);
		CHECK_EQ(ML(nvmlDeviceGetNvLinkRemotePciInfo)(device, l, &old), want);
		CHECK_EQ(ML(nvmlDeviceGetNvLinkRemoteDeviceType)(device, l, &type), want);
		CHECK_STR(pci.busId, shown ? card[far].pci : "");
		CHECK_EQ(old.bus, shown ? card[far].bus : 0);
	}
	CHECK_EQ(ML(nvmlDeviceGetNvLinkState)(device, CARDS, NULL), NVML_ERROR_INVALID_ARGUMENT);
}

static int child(const char *visible)
{
	unsigned excluded = 9;

	cards_hear();
	for (int i = 0; i < CARDS; i++)
		for (int k = 0; k < CARDS; k++)
			CHECK_EQ(scanf("%d %d %d", &level[i][k], &peers[i][k], &board[i][k]), 3);
	CHECK_EQ(ML(nvmlInit_v2)(), NVML_SUCCESS);
	pairs(visible);
	lists(visible);
	for (unsigned k = 0; visible[k]; k++) {
		const unsigned i = (unsigned)(visible[k] - '0');
		unsigned minor, many;

		nearest(visible, k);
		links(visible, k);
		CHECK_EQ(ML(nvmlDeviceGetMinorNumber)(device_at(k), &minor), NVML_SUCCESS);
		CHECK_EQ(minor, card[i].minor);
		CHECK_EQ(ML(nvmlDeviceGetMultiGpuBoard)(device_at(k), &many), NVML_SUCCESS);
		CHECK_EQ(many, is_visible(visible, i ^ 1));
	}
	CHECK_EQ(ML(nvmlGetExcludedDeviceCount)(&excluded), NVML_SUCCESS);
	CHECK_EQ(excluded, strlen(visible) == CARDS);
	return 0;
}

static void expect(const char *setting, const char *visible)
{
	struct client c = cards_client(setting, visible);

	for (int i = 0; i < CARDS; i++)
		for (int k = 0; k < CARDS; k++)
			client_say(&c, "%d %d %d", level[i][k], peers[i][k], board[i][k]);
	if (client_wait(&c, DEADLINE_MS))
		FAIL("with %s", setting);
}

int main(int argc, char **argv)
{
	char list[128];

	cards_setup("3");
	if (argc > 1)
		return child(argv[1]);
	cards_learn();
	for (unsigned i = 0; i < CARDS; i++)
		for (unsigned k = 0; k < CARDS; k++)
			pair(device_at(i), device_at(k), &level[i][k], &peers[i][k], &board[i][k]);
	CHECK(level[0][1] != level[0][2] && level[0][2] != level[0][4]);
	CHECK(peers[0][1] != peers[0][5] && board[0][1] && !board[0][2]);
	expect("all", "012345");
	expect("5,4,2", "245");
	expect("0,1,2,3,5", "01235");
	snprintf(list, sizeof(list), "%s", card[3].uuid);
	expect(list, "3");
	return 0;
}
