import { useState } from 'preact/hooks';
import type { DnsSettings } from '../../api/wire.js';
import { sentence, useWords, type Words } from '../../i18n/text.js';
import { note } from '../../state/audit-notes.js';
import { createDrafts, type Draft } from '../../state/drafts.js';
import { say } from '../../state/toasts.js';
import { useWorkspace } from '../../state/workspace.js';
import type { Store } from '../../store/store.js';
import { isAddress, isDomainSuffix, isWebAddress, linesOf } from '../../text/networks.js';
import { Field, Switch } from '../../ui/field.js';
import { Icon } from '../../ui/icon.js';
import { Notice } from '../../ui/notice.js';

/** The settings under edit; `lists` and `names` as they are typed. */
export const dnsDraftOf = createDrafts<DnsSettings>();

interface FormProps {
  readonly draft: Draft<DnsSettings>;
  readonly store: Store<Draft<DnsSettings> | null>;
  /** Whether the server's settings changed since the edit began. */
  readonly meanwhile: boolean;
}

interface NameRow {
  readonly id: number;
  readonly name: string;
  readonly address: string;
}

let lastRow = 0;
const rowOf = (name: string, address: string): NameRow => {
  lastRow += 1;
  return { id: lastRow, name, address };
};

function rowsOf(settings: DnsSettings): readonly NameRow[] {
  return Object.entries(settings.custom_domains).map(([name, address]) => rowOf(name, address));
}

/** Whether the server runs, where it asks, what it blocks, and names with addresses of their own. */
export function DnsSettingsForm({ draft, store, meanwhile }: FormProps) {
  const words = useWords();
  const workspace = useWorkspace();
  const [lists, setLists] = useState(draft.now.adblock_urls.join('\n'));
  const [rows, setRows] = useState(() => rowsOf(draft.now));
  const [from, setFrom] = useState(draft.base);
  const [error, setError] = useState<unknown>(null);
  if (from !== draft.base) {
    setFrom(draft.base);
    setLists(draft.now.adblock_urls.join('\n'));
    setRows(rowsOf(draft.now));
  }
  const { now, base } = draft;
  const dirty = now !== base;
  const change = (members: Partial<DnsSettings>) => store.set({ base, now: { ...now, ...members } });
  const changeRows = (next: readonly NameRow[]) => {
    setRows(next);
    change({ custom_domains: Object.fromEntries(next.map(({ name, address }) => [name.trim(), address.trim()])) });
  };
  const upstreamProblem =
    now.doh_upstream === '' || isWebAddress(now.doh_upstream, ['https:']) ? null : words('dns.badUpstream');
  const badList = linesOf(lists).find((line) => !isWebAddress(line, ['http:', 'https:', 'file:']));
  const listProblem = badList === undefined ? null : words('dns.badList', { line: badList.slice(0, 100) });
  const rowProblems = rows.map((row) => rowProblem(row, rows, words));
  const valid = upstreamProblem === null && listProblem === null && rowProblems.every((problem) => problem === null);
  const save = async (event: Event) => {
    event.preventDefault();
    if (!valid) return;
    setError(null);
    try {
      await workspace.server.replaceDns(now);
      note(workspace, 'event.saveDns', true);
      const saved = await workspace.server.dns();
      store.set({ base: saved, now: saved });
      say({ tone: 'good', text: words('dns.saved') });
    } catch (problem) {
      note(workspace, 'event.saveDns', false);
      setError(problem);
    }
  };
  return (
    <form class="card" onSubmit={save}>
      <h2>{words('dns.settings')}</h2>
      {error !== null && (
        <Notice tone="bad" urgent>
          {sentence(error, words)}
        </Notice>
      )}
      {meanwhile && dirty && <Notice tone="warn">{words('dns.meanwhile')}</Notice>}
      <Switch
        label={words('dns.enabled')}
        hint={words('dns.enabledHint')}
        checked={now.enabled}
        onChange={(enabled) => change({ enabled })}
      />
      <div class="fields">
        <Field label={words('dns.upstream')} problem={upstreamProblem}>
          {(control) => (
            <input
              {...control}
              class="mono"
              inputMode="url"
              autocomplete="off"
              spellcheck={false}
              value={now.doh_upstream}
              onInput={(event) => change({ doh_upstream: event.currentTarget.value.trim() })}
            />
          )}
        </Field>
        <Field label={words('dns.lists')} hint={words('dns.listsHint')} problem={listProblem}>
          {(control) => (
            <textarea
              {...control}
              class="mono"
              rows={3}
              spellcheck={false}
              value={lists}
              onInput={(event) => {
                setLists(event.currentTarget.value);
                change({ adblock_urls: linesOf(event.currentTarget.value) });
              }}
            />
          )}
        </Field>
      </div>
      <CustomNames rows={rows} problems={rowProblems} onChange={changeRows} />
      <footer class="card-foot">
        {dirty && (
          <button type="button" class="button" onClick={() => store.set({ base: { ...base }, now: base })}>
            {words('action.discard')}
          </button>
        )}
        <button type="submit" class="button button-primary" disabled={!dirty || !valid}>
          {words('dns.save')}
        </button>
      </footer>
    </form>
  );
}

function rowProblem(row: NameRow, rows: readonly NameRow[], words: Words): string | null {
  if (!isDomainSuffix(row.name.trim())) return words('dns.badName');
  if (rows.some((other) => other.id !== row.id && other.name.trim() === row.name.trim())) return words('dns.twice');
  return isAddress(row.address.trim()) ? null : words('dns.badAddress');
}

interface CustomNamesProps {
  readonly rows: readonly NameRow[];
  readonly problems: readonly (string | null)[];
  readonly onChange: (rows: readonly NameRow[]) => void;
}

function CustomNames({ rows, problems, onChange }: CustomNamesProps) {
  const words = useWords();
  const edit = (id: number, members: Partial<NameRow>) =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...members } : row)));
  return (
    <fieldset class="names">
      <legend>{words('dns.custom')}</legend>
      {rows.length === 0 && <p class="hint">{words('dns.noCustom')}</p>}
      {rows.map((row, index) => (
        <div key={row.id} class="name-row">
          <input
            class="mono"
            aria-label={words('dns.customName')}
            placeholder="home.example"
            autocomplete="off"
            spellcheck={false}
            aria-invalid={problems[index] !== null}
            value={row.name}
            onInput={(event) => edit(row.id, { name: event.currentTarget.value })}
          />
          <input
            class="mono"
            aria-label={words('dns.customAddress')}
            placeholder="192.0.2.1"
            autocomplete="off"
            spellcheck={false}
            aria-invalid={problems[index] !== null}
            value={row.address}
            onInput={(event) => edit(row.id, { address: event.currentTarget.value })}
          />
          <button
            type="button"
            class="icon-button"
            aria-label={`${words('action.remove')} ${row.name}`}
            onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
          >
            <Icon name="trash" />
          </button>
          {problems[index] !== null && <p class="hint hint-bad">{problems[index]}</p>}
        </div>
      ))}
      <button type="button" class="button button-small" onClick={() => onChange([...rows, rowOf('', '')])}>
        <Icon name="plus" /> {words('action.add')}
      </button>
    </fieldset>
  );
}
