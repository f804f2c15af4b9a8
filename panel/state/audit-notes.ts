import { EVENTS, type EventName } from '../i18n/events.js';
import { fill, type Values } from '../i18n/message.js';
import type { Workspace } from './workspace.js';

/**
 * Writes an audit entry in both languages, where the server keeps a list. Anyone may read that list, so an entry holds
 * numbers at most: no key, no part of one, no name. A failure to write is nobody's concern.
 */
export function note(workspace: Workspace, event: EventName, success: boolean, values: Values = {}): void {
  whenKnown(workspace, () => {
    if (workspace.offers.get().audit !== true) return;
    const { en, ru } = EVENTS[event];
    workspace.server.addAudit(fill(en, 'en', values), fill(ru, 'ru', values), success).catch(() => undefined);
  });
}

function whenKnown({ offers }: Workspace, then: () => void): void {
  if (offers.get().audit !== null) {
    then();
    return;
  }
  const stop = offers.subscribe(() => {
    if (offers.get().audit === null) return;
    stop();
    then();
  });
}
