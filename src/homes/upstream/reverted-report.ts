import { keyDigest } from '../../core/key-digest.js';
import type { LogPort } from '../../core/ports.js';
import type { KeyState } from './key-state.js';

export type RevertedOutcome = 'madeAgain' | 'left';

export type RevertedReport = ReturnType<typeof createRevertedReport>;

const OUTCOMES: readonly RevertedOutcome[] = ['madeAgain', 'left'];

const SENTENCES: Readonly<Record<RevertedOutcome, { readonly one: string; readonly many: string }>> = {
  madeAgain: {
    one: 'a change that the server had made was lost there, and was made again',
    many: 'changes that the server had made were lost there, and were made again',
  },
  left: {
    one: 'a key that was just made here was deleted at the server, and stays so',
    many: 'keys that were just made here were deleted at the server, and stay so',
  },
};

/** The most that one line names. */
const MOST_NAMED = 10;

/** Counts reverted changes, and says them: one line for all that are found at once. */
export function createRevertedReport(log: LogPort) {
  const counts: Record<RevertedOutcome, number> = { madeAgain: 0, left: 0 };
  const unsaid: Record<RevertedOutcome, string[]> = { madeAgain: [], left: [] };
  return {
    add(outcome: RevertedOutcome, key: string): void {
      counts[outcome] += 1;
      unsaid[outcome].push(key);
    },
    /** Logs what was added since the last time. */
    say(): void {
      for (const outcome of OUTCOMES) {
        const keys = unsaid[outcome].splice(0);
        const { one, many } = SENTENCES[outcome];
        if (keys.length === 1) log.warn({ key: keys[0] }, one);
        else if (keys.length > 1) log.warn({ count: keys.length, keys: keys.slice(0, MOST_NAMED) }, many);
      }
    },
    /** Returns how many there were, ever. */
    count: (outcome: RevertedOutcome): number => counts[outcome],
  };
}

/** Names a key in the log: by its name, unless that tells the key, else by its digest. */
export function namedInLog(
  accessKey: string,
  { after, previousStates }: { readonly after: KeyState; readonly previousStates: readonly KeyState[] },
): string {
  const name = [after, ...previousStates].map((state) => state?.name ?? '').find((each) => each !== '');
  return name === undefined || name.includes(accessKey) ? keyDigest(accessKey) : name;
}
