import type { Family, Sample } from './family.js';

const REASONS = ['full', 'share'] as const;

type Counts = Readonly<Record<(typeof REASONS)[number], number>>;

/** Figures of the connections of one listener; counts are since the start. */
export interface ConnectionFigures {
  readonly listener: string;
  readonly open: number;
  /** Idle ones that made room, because the listener was full or an address had its share. */
  readonly closedIdle: Counts;
  /** New ones that found none. */
  readonly refused: Counts;
}

export function connectionFamilies(figures: () => readonly ConnectionFigures[]): readonly Family[] {
  return [
    {
      name: 'keyway_connections',
      help: 'Open connections, by listener.',
      type: 'gauge',
      labelNames: ['listener'],
      read: () => figures().map(({ listener, open }) => ({ labels: { listener }, value: open })),
    },
    {
      name: 'keyway_connections_closed_total',
      help: 'Idle connections closed to make room, by listener: it was full, or an address had its share.',
      type: 'counter',
      labelNames: ['listener', 'reason'],
      read: () => figures().flatMap(({ listener, closedIdle }) => byReason(listener, closedIdle)),
    },
    {
      name: 'keyway_connections_refused_total',
      help: 'New connections for which no idle one could make room, by listener and reason.',
      type: 'counter',
      labelNames: ['listener', 'reason'],
      read: () => figures().flatMap(({ listener, refused }) => byReason(listener, refused)),
    },
  ];
}

function byReason(listener: string, counts: Counts): readonly Sample[] {
  return REASONS.map((reason) => ({ labels: { listener, reason }, value: counts[reason] }));
}
