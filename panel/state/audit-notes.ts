import type { Values } from '../i18n/message.js';
import { type MessageName, textIn } from '../i18n/text.js';
import type { Workspace } from './workspace.js';

type EventName = Extract<MessageName, `event.${string}`>;

/**
 * Writes an audit entry in both languages, where the server keeps a list. Anyone may read that list, so an entry holds
 * numbers at most: no key, no part of one, no name. A failure to write is nobody's concern.
 */
export function note(workspace: Workspace, event: EventName, success: boolean, values: Values = {}): void {
  whenKnown(workspace, () => {
    if (workspace.offers.get().audit !== true) return;
    workspace.server.addAudit(textIn('en', event, values), textIn('ru', event, values), success).catch(() => undefined);
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
