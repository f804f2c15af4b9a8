import type { Purpose, Sent, UpstreamStatus } from '../../client/server.js';
import { UpstreamError } from '../../client/upstream-error.js';
import type { LiveStatus } from '../../core/backend.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { UpstreamContext } from './context.js';
import { countsBy, type KeyReplica, type StatusCounts } from './replica.js';

export interface StatusOptions extends UpstreamContext {
  readonly keys: KeyReader;
  readonly replica: Pick<KeyReplica, 'ownChanges'>;
  readonly onStatus: (status: UpstreamStatus) => void;
  /** Called when the server has restarted. */
  readonly onRestart: () => void;
}

const LEAST_GAP = 1_000;

/** The server's own status, asked for at most once a second. */
export function createStatusKeeper({ server, keys, replica, clock, onStatus, onRestart }: StatusOptions) {
  let last: { readonly sent: Sent<UpstreamStatus>; readonly own: StatusCounts } | null = null;
  let asking: Promise<void> | null = null;
  let startedAt: number | null = null;

  async function ask(purpose: Purpose): Promise<void> {
    const own = replica.ownChanges();
    const sent = await server.status(purpose);
    last = { sent, own };
    onStatus(sent.value);
    const start = startOf(sent);
    const wasRestarted = isRestarted(startedAt, start);
    startedAt = start;
    if (wasRestarted) onRestart();
  }

  const isFresh = () => last !== null && clock.monotonic() - last.sent.sentAt < LEAST_GAP;

  async function fresh(): Promise<void> {
    if (asking === null && isFresh()) return;
    asking ??= ask('caller').finally(() => {
      asking = null;
    });
    await asking;
  }

  /** Returns the last status with the changes that were made through here since. */
  function known(): LiveStatus {
    if (last === null) return { active: keys.active, total: keys.size, uptimeSeconds: null };
    const { own, sent } = last;
    const { activeUsers, totalUsers, uptimeSeconds, sums } = sent.value;
    const told = { ...countsBy(() => 0n), ...sums, active: activeUsers, total: totalUsers };
    const now = replica.ownChanges();
    const { active, total, online, ...summed } = countsBy((name) => atLeastZero(told[name] + now[name] - own[name]));
    return {
      active: Number(active),
      total: Number(total),
      uptimeSeconds: Number(uptimeSeconds),
      ...(sums === null ? {} : { sums: { ...summed, online: Number(online) } }),
    };
  }

  return {
    async read(): Promise<LiveStatus> {
      try {
        await fresh();
      } catch (error) {
        // Somebody else holds the server's one session: what is known is shown meanwhile.
        if (!(error instanceof UpstreamError && error.code === 'upstreamRefused') || last === null) throw error;
        const { uptimeSeconds } = known();
        return { active: keys.active, total: keys.size, uptimeSeconds };
      }
      return known();
    },
    /** Checks that the server answers, unless it did within the last second; does not sign in for that. */
    look: async (): Promise<void> => asking ?? (isFresh() ? undefined : ask('look')),
  };
}

function atLeastZero(count: bigint): bigint {
  return count < 0n ? 0n : count;
}

/** How much later a start may seem without a restart, because uptimes are whole seconds. Milliseconds. */
const JITTER = 3_000;

/** Returns when the server started, by the monotonic clock of this process, ms. */
export function startOf(status: {
  readonly sentAt: number;
  readonly value: { readonly uptimeSeconds: bigint };
}): number {
  return status.sentAt - Number(status.value.uptimeSeconds) * 1000;
}

/** Tells whether a server that started then is another run than the known one. */
export function isRestarted(known: number | null, start: number): boolean {
  return known !== null && start > known + JITTER;
}
