import type { Health } from '../core/backend.js';
import type { KeyCounts } from '../core/keys/types.js';
import type { Session } from '../core/session.js';
import type { Revision } from '../wire/traits/revision.js';
import { counter, type Family, gauge, type Sample } from './family.js';

export interface MountFigures {
  readonly api: string;
  readonly revision: Pick<Revision, 'id' | 'online' | 'capabilities'>;
  readonly session: Pick<Session, 'isHeld'>;
}

export interface GatewayFigures {
  readonly mounts: readonly MountFigures[];
  readonly keys: { readonly size: number; readonly counts: KeyCounts };
  readonly health: Health;
  /** Counts are since the start. */
  readonly tokens: () => { readonly unread: number };
}

const MOUNT = ['mount', 'revision'] as const;

export function labelsOf({ api, revision }: Pick<MountFigures, 'api' | 'revision'>) {
  return { mount: api, revision: revision.id };
}

export function hasLogin({ revision }: Pick<MountFigures, 'revision'>): boolean {
  return revision.capabilities.login !== undefined;
}

/** Keys, sessions and health. */
export function gatewayFamilies(figures: GatewayFigures): readonly Family[] {
  const { mounts, keys, health, tokens } = figures;
  return [
    ...keyFamilies(keys, mounts),
    gauge(
      'keyway_sessions',
      'Sessions that operators hold, by mount; a mount has one at most.',
      () =>
        mounts.filter(hasLogin).map((mount) => ({ labels: labelsOf(mount), value: mount.session.isHeld() ? 1 : 0 })),
      MOUNT,
    ),
    counter(
      'keyway_unread_tokens_total',
      'Requests refused without a look at their token, after too many wrong ones from the same address.',
      () => tokens().unread,
    ),
    gauge(
      'keyway_health_problem',
      '1 while /healthz names the problem.',
      async () => {
        const present = new Set((await health.problems()).map(({ problem }) => problem));
        return Object.keys(health.kinds()).map((problem) => ({
          labels: { problem },
          value: present.has(problem) ? 1 : 0,
        }));
      },
      ['problem'],
    ),
  ];
}

function keyFamilies(keys: GatewayFigures['keys'], mounts: readonly MountFigures[]): readonly Family[] {
  return [
    gauge('keyway_keys', 'Registered access keys.', () => keys.size),
    gauge('keyway_keys_with_traffic', 'Registered access keys that have used any traffic.', () => keys.counts.active),
    gauge(
      'keyway_keys_over_limit',
      'Registered access keys whose traffic has reached their limit.',
      () => keys.counts.overLimit,
    ),
    gauge(
      'keyway_keys_online',
      "Registered access keys that a mount shows as online, by its revision's rule.",
      () => mounts.map((mount) => ({ labels: labelsOf(mount), value: mount.revision.online.count(keys.counts) })),
      MOUNT,
    ),
  ];
}

const REASONS = ['full', 'share'] as const;

type Counts = Readonly<Record<(typeof REASONS)[number], number>>;

/** Figures of the connections of one listener; counts are since the start. */
export interface ConnectionFigures {
  readonly listener: string;
  readonly open: number;
  /** Idle connections that were closed to make room, because the listener was full or a network had its share. */
  readonly closedIdle: Counts;
  /** New connections that were refused because there was no idle one to close. */
  readonly refused: Counts;
}

export function connectionFamilies(figures: () => readonly ConnectionFigures[]): readonly Family[] {
  return [
    gauge(
      'keyway_connections',
      'Open connections, by listener.',
      () => figures().map(({ listener, open }) => ({ labels: { listener }, value: open })),
      ['listener'],
    ),
    counter(
      'keyway_connections_closed_total',
      'Idle connections closed to make room, by listener: it was full, or an address had its share.',
      () => figures().flatMap(({ listener, closedIdle }) => byReason(listener, closedIdle)),
      ['listener', 'reason'],
    ),
    counter(
      'keyway_connections_refused_total',
      'New connections for which no idle one could make room, by listener and reason.',
      () => figures().flatMap(({ listener, refused }) => byReason(listener, refused)),
      ['listener', 'reason'],
    ),
  ];
}

function byReason(listener: string, counts: Counts): readonly Sample[] {
  return REASONS.map((reason) => ({ labels: { listener, reason }, value: counts[reason] }));
}

/** Figures of the feed; counts are since the start. */
export interface FeedFigures {
  readonly reports: number;
  readonly entries: number;
  readonly repeatedReports: number;
  readonly unknownKeys: number;
  readonly notDurable: number;
  readonly refused: number;
}

export function feedFamilies(figures: () => FeedFigures): readonly Family[] {
  return [
    counter(
      'keyway_feed_reports_total',
      'Usage reports of the tunnel server; repeated ones were counted before and not again.',
      () => {
        const { reports, repeatedReports } = figures();
        return [
          { labels: { outcome: 'counted' }, value: reports - repeatedReports },
          { labels: { outcome: 'repeated' }, value: repeatedReports },
        ];
      },
      ['outcome'],
    ),
    counter('keyway_feed_entries_total', 'Entries of usage reports that were counted.', () => figures().entries),
    counter(
      'keyway_feed_unknown_keys_total',
      'Keys in usage reports that were not registered.',
      () => figures().unknownKeys,
    ),
    counter(
      'keyway_feed_not_durable_total',
      'Usage reports that were counted and could not be written to the disk.',
      () => figures().notDurable,
    ),
    counter(
      'keyway_feed_refused_requests_total',
      'Requests to the feed without its token, or that it could not read.',
      () => figures().refused,
    ),
  ];
}

/** Deliveries of the webhook; counts are since the start. */
export interface WebhookFigures {
  readonly accepted: number;
  readonly failed: number;
  readonly abandoned: number;
  /** Null where the last attempt succeeded; else for how long the event has been waiting, in milliseconds. */
  readonly failing: { readonly since: number } | null;
}

export function webhookFamilies(figures: () => WebhookFigures): readonly Family[] {
  return [
    counter(
      'keyway_webhook_deliveries_total',
      'Events sent to the webhook, by outcome: accepted, failed (an attempt, made again later) or abandoned after a day.',
      () => {
        const { accepted, failed, abandoned } = figures();
        return Object.entries({ accepted, failed, abandoned }).map(([outcome, value]) => ({
          labels: { outcome },
          value,
        }));
      },
      ['outcome'],
    ),
    gauge(
      'keyway_webhook_waiting_seconds',
      'Age of the event that the webhook does not take; 0 where it takes events.',
      () => (figures().failing?.since ?? 0) / 1000,
    ),
  ];
}
