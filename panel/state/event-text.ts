import { numberOf, type ServerEvent, textOf } from '../api/events.js';
import type { Words } from '../i18n/text.js';

const REASONS = ['saved', 'edited', 'replaced', 'restored'] as const;

/** A sentence for an event that is about no key; the type itself where it is not known. */
export function eventText(event: ServerEvent, words: Words): string {
  switch (event.type) {
    case 'configuration.changed': {
      const told = textOf(event, 'reason');
      return words(`events.configuration.${REASONS.find((reason) => reason === told) ?? 'saved'}`);
    }
    case 'server.away':
      return words('events.server.away');
    case 'server.back':
      return words('events.server.back');
    case 'server.updated':
      return words('events.server.updated', { from: textOf(event, 'from'), to: textOf(event, 'to') });
    case 'job.ended': {
      const [done, total, failed] = ['done', 'total', 'failed'].map((name) => numberOf(event, name));
      const ended = textOf(event, 'state') === 'stopped' ? 'stopped' : 'done';
      const told = words(`events.job.${ended}`, { done: done ?? 0, n: total ?? 0 });
      return failed === 0 ? told : `${told} ${words('events.job.failed', { n: failed ?? 0 })}`;
    }
    default:
      return event.type;
  }
}
