/*
 * A thread that charges and refunds: the loop over its steps, one for each access to shared memory. Included by protocol.pml,
 * which has the words, the places (`at`) and what a step does; a model's own steps are OWN_OPTIONS. A process is of one such
 * thread, or of several that share a slot.
 */
proctype member(byte p; byte s)
{
	THREAD_LOCALS;

	do
	OWN_OPTIONS
	/* account.c account_charge */
#if EPOCHS
	:: atomic { at == CHARGE && RUNS(s) ->
		seen = credit[s]; was = charged[s]; tagged = tag[s];
		if
		:: seen < n -> SHORT(s)
		:: else -> at = EPOCH
		fi }
	:: atomic { at == EPOCH && RUNS(s) ->
		if
		:: epoch != own_epoch[s] && FAULT != EPOCH_IGNORED -> at = (fast -> LOCK : AGAIN); seen = 0; was = 0; tagged = 0
		:: else -> at = SWAP
		fi }
	:: atomic { at == SWAP && RUNS(s) ->
		if
		:: credit[s] == seen && charged[s] == was && tag[s] == tagged ->
			SEEN(S_CHARGED, s, n)
			credit[s] = credit[s] - n; charged[s] = charged[s] + n;
			CLEAN; END_GROW(s);
			CHARGED(s)
		:: else ->
			seen = credit[s]; was = charged[s]; tagged = tag[s];
			if
			:: seen < n -> SHORT(s)
			:: else -> at = EPOCH
			fi
		fi }
	:: atomic { at == LOCK && !growing[s] && RUNS(s) -> growing[s] = 1; fast = 0; at = ADOPT }
	:: atomic { at == ADOPT && RUNS(s) -> rules = epoch;
		if
		:: rules == own_epoch[s] -> rules = 0; at = CHARGE
		:: else -> at = (FAULT == CREDIT_ADOPTED -> ADOPTED : DROP)
		fi }
	:: atomic { at == DROP && RUNS(s) -> mark[s] = 0; credit[s] = 0; at = ADOPTED }
	:: atomic { at == ADOPTED && RUNS(s) -> own_epoch[s] = rules; rules = 0; at = CHARGE }
	:: atomic { at == AGAIN && RUNS(s) ->
		if
		:: credit[s] >= n -> at = ADOPT
		:: else -> need = n - credit[s]; at = BEGIN_GROW
		fi }
#else
	:: atomic { at == CHARGE && RUNS(s) ->
		if
		:: credit[s] >= n ->
			SEEN(S_CHARGED, s, n)
			credit[s] = credit[s] - n; charged[s] = charged[s] + n;
			CLEAN;
			CHARGED(s)
		:: else -> need = n - credit[s]; at = BEGIN_GROW
		fi }
#endif
	/* account.c try_grow */
	:: atomic { at == ANNOUNCE && RUNS(s) ->
		SEEN(S_ANNOUNCED, s, need)
		pending[s] = (FAULT == NO_ANNOUNCEMENT -> 0 : need); ANNOUNCES(s); at = ANNOUNCED }
#if TENANTS > 1
	:: atomic { at == RISE && RUNS(s) -> at = (requests -> RISEN : HAS_RISEN) }
	:: atomic { at == RISEN && RUNS(s) -> RAISE_ALL; at = HAS_RISEN }
	:: atomic { at == ADMIT && RUNS(s) ->
		if
		:: requests && known[s] == KNOWN -> summing = 1; trust = 1; used_other = others_most[s];
			promise = request[1 - tenant[s]]; at = PENDING; SKIP_OTHERS(s)
		:: else -> at = EXACT
		fi }
	:: atomic { at == EXACT && RUNS(s) -> summing = requests; at = (requests -> BASE : PENDING) }
	:: atomic { at == BASE && RUNS(s) -> others_most[s] = 0; known[s] = (FAULT == BASED_LATE -> NOTHING : FILLING); at = PENDING }
#endif
	:: atomic { at == PENDING && i == s && RUNS(s) -> read_word(s); NEXT_SLOT(s) }
#if SPLIT_STATE
	:: atomic { at == MAP && RUNS(s) -> map = mapped[0] + 2 * mapped[1]; at = PENDING }
	:: atomic { at == PENDING && i != s && (!(map & (1 << i)) || state[i] == FREE) && RUNS(s) -> NEXT_SLOT(s) }
	:: atomic { at == PENDING && i != s && (map & (1 << i)) && state[i] == USED && RUNS(s) -> at = LOOKED }
	:: atomic { at == LOOKED && RUNS(s) ->
#else
	/* Nobody moves into a slot of this model again: its state and its pending may be loaded at once. */
	:: atomic { at == PENDING && i != s && state[i] == FREE && RUNS(s) -> NEXT_SLOT(s) }
	:: atomic { at == PENDING && i != s && state[i] == USED && RUNS(s) ->
#endif
		if
		:: FAULT == WORD_FIRST -> read_word(s)
		:: else -> read_pending(s)
		fi;
		at = WORD }
	:: atomic { at == WORD && RUNS(s) ->
		if
		:: FAULT == WORD_FIRST -> read_pending(s)
		:: else -> read_word(s)
		fi;
		at = PENDING; NEXT_SLOT(s) }
	:: atomic { at == COMMIT && RUNS(s) ->
		SEEN(S_COMMITTED, s, need)
		GRANTS(s);
		credit[s] = credit[s] + need;
		if
		:: FAULT == CLEARS_FIRST -> GRANTED
		:: else -> at = CLEAR
		fi }
	:: atomic { at == CLEAR && RUNS(s) ->
		SEEN(S_RETRACTED, s, 0)
		pending[s] = 0; SET_MARK;
		if
		:: FAULT == CLEARS_FIRST -> at = COMMIT
		:: else -> GRANTED
		fi }
	:: atomic { at == RETRACT && RUNS(s) ->
		SEEN(S_RETRACTED, s, 0)
		pending[s] = 0;
		if
		:: PATIENT && verdict == RACE -> at = WAIT
		:: else -> not_had(s)
		fi }
#if PATIENT
	:: atomic { at == WAIT && RUNS(s) && (low < s -> pending[low] == 0 : KEEPING_ENDS) ->
		at = (low > s -> TO_SUM : TO_CHARGE); need = (low > s -> need : 0); low = NONE; verdict = 0 }
#endif
	/* account.c recover */
	:: atomic { at == SWEEP && SWEPT(s) && RUNS(s) -> at = TAKE }
	:: atomic { at == TAKE && RUNS(s) ->
		if
		:: i < SLOTS && TAKES_FROM(i) && FAULT == TAKEN_BY_STORE -> was = charged[i]; at = STORE_BACK
		:: i < SLOTS && TAKES_FROM(i) && FAULT == STRANGER_RAISES && credit[i] -> credit[i] = 0; at = STORE_BACK
		:: i < SLOTS && TAKES_FROM(i) && FAULT != TAKEN_BY_STORE && (FAULT != STRANGER_RAISES || !credit[i]) ->
			SEEN(S_TAKEN, i, 0)
			credit[i] = 0; i++
		:: i < SLOTS && !TAKES_FROM(i) -> i++
		:: else
		fi;
		if
		:: i == SLOTS -> i = 0; recovered = verdict; verdict = 0; need = 0; at = TO_CHARGE
		:: else
		fi }
	:: atomic { at == STORE_BACK && RUNS(s) ->
		if
		:: FAULT == STRANGER_RAISES -> credit[i] = credit[i] + 1
		:: else -> charged[i] = was; credit[i] = 0
		fi;
		was = 0; at = TAKE; i++;
		if
		:: i == SLOTS -> i = 0; recovered = verdict; verdict = 0; need = 0; at = TO_CHARGE
		:: else
		fi }
#if FORCES
	/* account.c account_force */
	:: atomic { at == FORCE && RUNS(s) -> FORCED_STEP;
		charged[s] = charged[s] + need; held[s] = held[s] + need;
		if
		:: FAULT == FORCE_RISEN_FIRST -> FORCED
		:: else -> at = FORCE_RISEN
		fi }
	:: atomic { at == FORCE_RISEN && RUNS(s) -> FORCED_STEP;
		RAISE_ALL;
		if
		:: FAULT == FORCE_RISEN_FIRST -> at = FORCE
		:: else -> FORCED
		fi }
#endif
	/* account.c account_refund. The mark says how much stays as credit: here all of it or nothing. */
#if EPOCHS
	:: atomic { at == REFUND && RUNS(s) -> seen = credit[s]; was = charged[s]; tagged = tag[s]; at = REFUND_EPOCH }
	:: atomic { at == REFUND_EPOCH && RUNS(s) -> rules = epoch; at = REFUND_SWAP;
		if
		:: rules == own_epoch[s] && mark[s] -> need = n
		:: true
		fi }
	:: atomic { at == REFUND_SWAP && RUNS(s) ->
		if
		:: credit[s] == seen && charged[s] == was && tag[s] == tagged ->
			SEEN(S_REFUNDED, s, n)
			charged[s] = charged[s] - n; credit[s] = credit[s] + need;
			rules = 0; REFUNDED(s)
		:: else -> at = REFUND; rules = 0
		fi;
		need = 0; seen = 0; was = 0; tagged = 0 }
#else
	:: atomic { at == REFUND && RUNS(s) ->
		SEEN(S_REFUNDED, s, n)
		charged[s] = charged[s] - n;
		KEEP(s);
		REFUNDED(s) }
#endif
	:: atomic { at == GONE -> break }
	od
}
