import { EVENTS, type EventName } from '../i18n/events.js';
import { fill, type Values } from '../i18n/message.js';
import { until } from '../store/store.js';
import { signature } from '../text/audit-text.js';
import type { Workspace } from './workspace.js';

/** Says by what kind of credential something is done, and when. */
function signatureIn({ session }: Workspace): string {
  // What ends after a sign-out was begun before it.
  const credential = session.last();
  if (credential === null) return signature('open', Date.now());
  const token = credential.value.startsWith('kw_') ? 'token' : 'static';
  return signature(credential.kind === 'session' ? 'session' : token, Date.now());
}

/**
 * Writes an audit entry in both languages, where the server keeps a list. Anyone may read that list, so an entry holds
 * numbers at most: no key, no part of one, no name. A failure to write is nobody's concern.
 */
export function note(workspace: Workspace, event: EventName, success: boolean, values: Values = {}): void {
  const signed = signatureIn(workspace);
  void until(workspace.offers, ({ audit }) => audit !== null).then(() => {
    if (workspace.offers.get().audit !== true) return;
    const { en, ru } = EVENTS[event];
    const told = { en: fill(en, 'en', values) + signed, ru: fill(ru, 'ru', values) + signed };
    workspace.server.addAudit(told.en, told.ru, success).catch(() => undefined);
  });
}

/** Makes a change and notes whether it could be made; a failed one is looked after at once. Rejects as the change does. */
export async function noted<T>(workspace: Workspace, event: EventName, change: Promise<T>): Promise<T> {
  try {
    const made = await change;
    note(workspace, event, true, { n: 1 });
    return made;
  } catch (problem) {
    note(workspace, event, false, { n: 1 });
    void workspace.contact.now();
    throw problem;
  }
}

/** Notes a batch by the number that was done, or by that of the failures where nothing was; nothing at all is no event. */
export function noteBatch(workspace: Workspace, event: EventName, done: number, failed: number): void {
  if (done + failed > 0) note(workspace, event, failed === 0, { n: done === 0 ? failed : done });
}
