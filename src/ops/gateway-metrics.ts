import { type Backend, PROBLEMS } from '../core/backend.js';
import type { KeyCounts } from '../core/keys/types.js';
import type { Session } from '../core/session.js';
import type { Revision } from '../wire/traits/revision.js';
import type { Family } from './family.js';

/** Figures of one mount. */
export interface MountFigures {
  /** The path of its API. */
  readonly api: string;
  readonly revision: Pick<Revision, 'id' | 'online' | 'capabilities'>;
  readonly session: Pick<Session, 'isHeld'>;
}

export interface GatewayFigures {
  readonly mounts: readonly MountFigures[];
  readonly keys: { readonly size: number; readonly counts: KeyCounts };
  readonly health: Pick<Backend, 'problems'>;
  /** Counts are since the start. */
  readonly tokens: () => { readonly unread: number };
}

const MOUNT = ['mount', 'revision'] as const;

export function labelsOf({ api, revision }: Pick<MountFigures, 'api' | 'revision'>) {
  return { mount: api, revision: revision.id };
}

/** Tells whether operators log in to it. */
export function hasLogin({ revision }: Pick<MountFigures, 'revision'>): boolean {
  return revision.capabilities.login !== undefined;
}

/** Keys, sessions and health. */
export function gatewayFamilies(figures: GatewayFigures): readonly Family[] {
  const { mounts, keys, health, tokens } = figures;
  return [
    ...keyFamilies(keys, mounts),
    {
      name: 'keyway_sessions',
      help: 'Sessions that operators hold, by mount; a mount has one at most.',
      type: 'gauge',
      labelNames: MOUNT,
      read: () =>
        mounts.filter(hasLogin).map((mount) => ({ labels: labelsOf(mount), value: mount.session.isHeld() ? 1 : 0 })),
    },
    {
      name: 'keyway_unread_tokens_total',
      help: 'Requests refused without a look at their token, after too many wrong ones from the same address.',
      type: 'counter',
      read: () => tokens().unread,
    },
    {
      name: 'keyway_health_problem',
      help: '1 while /healthz names the problem.',
      type: 'gauge',
      labelNames: ['problem'],
      async read() {
        const present = new Set((await health.problems()).map(({ problem }) => problem));
        return PROBLEMS.map((problem) => ({ labels: { problem }, value: present.has(problem) ? 1 : 0 }));
      },
    },
  ];
}

function keyFamilies(keys: GatewayFigures['keys'], mounts: readonly MountFigures[]): readonly Family[] {
  return [
    { name: 'keyway_keys', help: 'Registered access keys.', type: 'gauge', read: () => keys.size },
    {
      name: 'keyway_keys_with_traffic',
      help: 'Registered access keys that have used any traffic.',
      type: 'gauge',
      read: () => keys.counts.active,
    },
    {
      name: 'keyway_keys_over_limit',
      help: 'Registered access keys whose traffic has reached their limit.',
      type: 'gauge',
      read: () => keys.counts.overLimit,
    },
    {
      name: 'keyway_keys_online',
      help: "Registered access keys that a mount shows as online, by its revision's rule.",
      type: 'gauge',
      labelNames: MOUNT,
      read: () => mounts.map((mount) => ({ labels: labelsOf(mount), value: mount.revision.online.count(keys.counts) })),
    },
  ];
}
