import { askDns, type DnsList, type DnsServer, readDnsLog } from '../../api/own-dns.js';
import type { DnsQuery } from '../../api/wire.js';
import { note } from '../../state/audit-notes.js';
import { perWorkspace } from '../../state/per-workspace.js';
import { say } from '../../state/toasts.js';
import { createStore } from '../../store/store.js';
import { fileEditingOf } from '../file/file-editing.js';

interface Seen {
  /** Null until it was told; false where no Keyway that resolves tells it. */
  readonly server: DnsServer | null | false;
  /** Null until they were told. */
  readonly queries: readonly DnsQuery[] | null;
}

const NOTHING: Seen = { server: null, queries: null };

/** The server's DNS server, by Keyway's own interface where that has one, else by the API. */
export const dnsServerOf = perWorkspace((workspace) => {
  const { own, server, session, offers, reach, contact } = workspace;
  const state = createStore(NOTHING);
  let isElsewhere = false;
  let part = '';
  let changes = 0;
  let switched: Promise<unknown> = Promise.resolve();
  session.onSignOut(() => {
    state.set(NOTHING);
    isElsewhere = false;
    part = '';
  });

  /** Asks Keyway's own interface, unless it has said that it has none. */
  async function loadOwn(): Promise<void> {
    const asked = { part, changes };
    // It does not tell yet what is being switched.
    await switched;
    const [told, queries] = await Promise.all([askDns(own, { method: 'GET' }), readDnsLog(own, part)]);
    isElsewhere = told.reason === 'none';
    if (isElsewhere) return;
    // An answer may be older than what was done since it was asked for.
    if (changes === asked.changes) state.patch({ server: told });
    if (part === asked.part) state.patch({ queries });
  }

  async function load(): Promise<void> {
    if (!isElsewhere && reach.get() === 'all') await loadOwn();
    else isElsewhere = true;
    if (isElsewhere)
      state.set({ server: false, queries: offers.get().dns === false ? null : await server.dnsQueries() });
  }

  return {
    state,
    /** Rejects with `ApiFailure`, as the others do. */
    load,
    /** Has the log searched, where there is more of it than what was told. */
    search(wanted: string): void {
      part = wanted;
      if (state.get().server) loadOwn().catch(contact.now);
    },
    /** Shows the list as it is wanted at once, and as it was where that fails. Switches are made one after the other. */
    async switchList(url: string, enabled: boolean): Promise<void> {
      const show = (isOn: boolean) => {
        const { server: seen } = state.get();
        const wanted = (list: DnsList) => (list.url === url ? { ...list, enabled: isOn } : list);
        changes += 1;
        state.patch({ server: seen && { ...seen, lists: seen.lists.map(wanted) } });
      };
      show(enabled);
      const asked = switched.then(() => askDns(own, { method: 'PATCH', body: { lists: [{ url, enabled }] } }));
      switched = asked.catch(() => show(!enabled));
      await asked;
      note(workspace, 'saveDns', true);
      // The forms of the page show the same settings. It is switched, also where they cannot be had now.
      const rest = offers.get().dns === true ? contact.now() : fileEditingOf(workspace).start();
      await Promise.all([loadOwn(), rest]).catch(contact.now);
    },
    async refresh(): Promise<void> {
      if (isElsewhere) await server.refreshBlocklists();
      else state.patch({ server: await askDns(own, { method: 'POST' }, '/refresh') });
      changes += 1;
      note(workspace, 'refreshLists', true);
      say('good', (words) => words('dns.refreshing'));
    },
  };
});
