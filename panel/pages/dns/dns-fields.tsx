import { useEffect, useState } from 'preact/hooks';
import type { DnsSettings } from '../../api/wire.js';
import { useWords, type Words } from '../../i18n/text.js';
import { isAddress, isDomainSuffix, isWebAddress, linesOf } from '../../text/networks.js';
import { Button, IconButton } from '../../ui/button.js';
import { Field, LinesField, NumberField, Select, Switch, TextField, VERBATIM } from '../../ui/field.js';

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

interface DnsFieldsProps {
  /** The settings that the edit began with: what is typed begins anew with others. */
  readonly base: DnsSettings;
  readonly now: DnsSettings;
  /** Members that stand in a file alone are shown, also where they are absent. */
  readonly ofFile: boolean;
  readonly onChange: (members: Partial<DnsSettings>) => void;
  /** Told whether everything that is typed is right. */
  readonly onValid: (valid: boolean) => void;
}

/** The DNS server's switch, its upstream, its blocklists, and names with addresses of their own. */
export function DnsFields({ base, now, ofFile, onChange, onValid }: DnsFieldsProps) {
  const words = useWords();
  const [lists, setLists] = useState(now.adblock_urls.join('\n'));
  const [rows, setRows] = useState(() => rowsOf(now));
  const [from, setFrom] = useState(base);
  if (from !== base) {
    setFrom(base);
    setLists(now.adblock_urls.join('\n'));
    setRows(rowsOf(now));
  }
  const changeRows = (next: readonly NameRow[]) => {
    setRows(next);
    onChange({ custom_domains: Object.fromEntries(next.map(({ name, address }) => [name.trim(), address.trim()])) });
  };
  const upstreamProblem = now.doh_upstream === '' || isWebAddress(now.doh_upstream) ? null : words('dns.badUpstream');
  const badList = linesOf(lists).find((line) => !isWebAddress(line, ['http:', 'https:', 'file:']));
  const listProblem = badList === undefined ? null : words('dns.badList', { line: badList.slice(0, 100) });
  const rowProblems = rows.map((row) => rowProblem(row, rows, words));
  const valid = upstreamProblem === null && listProblem === null && rowProblems.every((problem) => problem === null);
  useEffect(() => onValid(valid), [valid]);
  return (
    <>
      <Switch
        label={words('dns.enabled')}
        hint={words('dns.enabledHint')}
        checked={now.enabled}
        onChange={(enabled) => onChange({ enabled })}
      />
      <div class="fields">
        <TextField
          {...VERBATIM}
          label={words('dns.upstream')}
          problem={upstreamProblem}
          inputMode="url"
          placeholder="https://cloudflare-dns.com/dns-query"
          value={now.doh_upstream}
          onType={(url) => onChange({ doh_upstream: url.trim() })}
        />
        <LinesField
          label={words('dns.lists')}
          hint={words('dns.listsHint')}
          problem={listProblem}
          rows={3}
          value={lists}
          onType={(text) => {
            setLists(text);
            onChange({ adblock_urls: linesOf(text) });
          }}
        />
        <FileMembers now={now} ofFile={ofFile} onChange={onChange} />
      </div>
      <CustomNames rows={rows} problems={rowProblems} onChange={changeRows} />
    </>
  );
}

function rowsOf(settings: DnsSettings): readonly NameRow[] {
  return Object.entries(settings.custom_domains).map(([name, address]) => rowOf(name, address));
}

function rowProblem(row: NameRow, rows: readonly NameRow[], words: Words): string | null {
  if (!isDomainSuffix(row.name.trim().replace(/^\*\./, ''))) return words('dns.badName');
  if (rows.some((other) => other.id !== row.id && other.name.trim() === row.name.trim())) return words('dns.twice');
  return isAddress(row.address.trim()) ? null : words('dns.badAddress');
}

/** Members that only a file has, or only some servers tell, each with what stands in its place while it is absent. */
const NUMBERS = [
  { member: 'local_port', label: 'config.bindPort', fallback: '50053', most: 65_535 },
  { member: 'refresh_hours', label: 'dns.refreshHours', fallback: '24', most: 576 },
] as const;

const ANSWERS = ['nxdomain', 'zero'] as const;

function FileMembers({ now, ofFile, onChange }: Pick<DnsFieldsProps, 'now' | 'ofFile' | 'onChange'>) {
  const words = useWords();
  const has = (member: string) => ofFile || member in now;
  const textOf = (member: string) => (typeof now[member] === 'string' ? String(now[member]) : '');
  return (
    <>
      {has('bind') && (
        <TextField
          {...VERBATIM}
          label={words('dns.bind')}
          placeholder="127.0.0.1"
          value={textOf('bind')}
          onType={(address) => onChange({ bind: address.trim() === '' ? undefined : address.trim() })}
        />
      )}
      {NUMBERS.filter(({ member }) => has(member)).map(({ member, label, fallback, most }) => (
        <NumberField
          key={member}
          label={words(label)}
          most={most}
          placeholder={fallback}
          value={typeof now[member] === 'number' ? String(now[member]) : ''}
          onType={(value) => onChange({ [member]: value === '' ? undefined : Number(value) })}
        />
      ))}
      {has('blocked_answer') && (
        <Field label={words('dns.blockedAnswer')}>
          {(control) => (
            <Select
              {...control}
              names={ANSWERS}
              value={ANSWERS.find((name) => name === now.blocked_answer) ?? 'nxdomain'}
              onChoose={(answer) => onChange({ blocked_answer: answer })}
            >
              {(name) => words(`dns.${name}`)}
            </Select>
          )}
        </Field>
      )}
      {'intercept_all_port53' in now && (
        <Switch
          label={words('dns.intercept')}
          checked={now.intercept_all_port53 === true}
          onChange={(on) => onChange({ intercept_all_port53: on })}
        />
      )}
    </>
  );
}

interface CustomNamesProps {
  readonly rows: readonly NameRow[];
  readonly problems: readonly (string | null)[];
  readonly onChange: (rows: readonly NameRow[]) => void;
}

const COLUMNS = [
  { member: 'name', label: 'keys.name', example: '*.home.example' },
  { member: 'address', label: 'config.bindHost', example: '192.0.2.1' },
] as const;

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
          {COLUMNS.map(({ member, label, example }) => (
            <input
              key={member}
              {...VERBATIM}
              aria-label={words(label)}
              placeholder={example}
              autocomplete="off"
              aria-invalid={problems[index] !== null}
              value={row[member]}
              onInput={(event) => edit(row.id, { [member]: event.currentTarget.value })}
            />
          ))}
          <IconButton
            icon="trash"
            label={`${words('action.remove')} ${row.name}`}
            onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
          />
          {problems[index] !== null && <p class="hint hint-bad">{problems[index]}</p>}
        </div>
      ))}
      <Button kind="small" icon="plus" onClick={() => onChange([...rows, rowOf('', '')])}>
        {words('action.add')}
      </Button>
    </fieldset>
  );
}
