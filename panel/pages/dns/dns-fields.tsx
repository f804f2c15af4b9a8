import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { DnsSettings } from '../../api/wire.js';
import { useWords, type Words } from '../../i18n/text.js';
import { isAddress, isDomainSuffix, isWebAddress, linesOf } from '../../text/networks.js';
import { Button, IconButton } from '../../ui/button.js';
import { Field, LinesField, NumberField, Select, Switch, TextField, VERBATIM } from '../../ui/field.js';
import type { Section } from '../../ui/sections.js';

interface NameRow {
  readonly name: string;
  readonly address: string;
}

interface DnsFieldsProps extends DnsProps {
  /** Draws the parts of the form. */
  readonly children: (parts: readonly Section[]) => ComponentChildren;
}

interface DnsProps {
  /** The settings that the edit began with: with others the fields start over. */
  readonly base: DnsSettings;
  readonly now: DnsSettings;
  /** Members that stand in a file alone are shown, also where they are absent. */
  readonly ofFile: boolean;
  readonly onChange: (members: Partial<DnsSettings>) => void;
  /** Told whether everything that is typed is right. */
  readonly onValid: (valid: boolean) => void;
}

/** The DNS server's switch and its addresses, its blocklists, and names with addresses of their own. */
export function DnsFields({ base, now, ofFile, onChange, onValid, children }: DnsFieldsProps) {
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
  useLayoutEffect(() => onValid(valid), [valid]);
  const members = { now, ofFile, onChange };
  const server = (
    <ServerFields {...members}>
      <TextField
        {...VERBATIM}
        label={words('dns.upstream')}
        problem={upstreamProblem}
        inputMode="url"
        placeholder="https://cloudflare-dns.com/dns-query"
        value={now.doh_upstream}
        onType={(url) => onChange({ doh_upstream: url.trim() })}
      />
    </ServerFields>
  );
  const blocking = (
    <div class="stack fields">
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
      <BlockingMembers {...members} />
    </div>
  );
  return (
    <>
      {children([
        { title: words('config.dns'), content: server },
        { title: words('dns.blocking'), content: blocking },
        {
          title: words('dns.custom'),
          content: <CustomNames rows={rows} problems={rowProblems} onChange={changeRows} />,
        },
      ])}
    </>
  );
}

function rowsOf(settings: DnsSettings): readonly NameRow[] {
  return Object.entries(settings.custom_domains).map(([name, address]) => ({ name, address }));
}

function rowProblem(row: NameRow, rows: readonly NameRow[], words: Words): string | null {
  if (!isDomainSuffix(row.name.trim().replace(/^\*\./, ''))) return words('dns.badName');
  if (rows.some((other) => other !== row && other.name.trim() === row.name.trim())) return words('dns.twice');
  return isAddress(row.address.trim()) ? null : words('dns.badAddress');
}

const ANSWERS = ['nxdomain', 'zero'] as const;

type MembersProps = Pick<DnsProps, 'now' | 'ofFile' | 'onChange'>;

/** Returns true for a member that this server has: a file may have each of them, other servers have those that they tell. */
function has({ now, ofFile }: MembersProps, member: string): boolean {
  return ofFile || member in now;
}

interface NumberMemberProps extends MembersProps {
  readonly member: 'local_port' | 'refresh_hours';
  readonly label: string;
  readonly most: number;
  /** Stands in its place while it is absent. */
  readonly fallback: string;
}

function NumberMember({ member, label, most, fallback, ...members }: NumberMemberProps) {
  if (!has(members, member)) return null;
  const value = members.now[member];
  return (
    <NumberField
      label={label}
      most={most}
      placeholder={fallback}
      value={typeof value === 'number' ? String(value) : ''}
      onType={(typed) => members.onChange({ [member]: typed === '' ? undefined : Number(typed) })}
    />
  );
}

interface ServerFieldsProps extends MembersProps {
  readonly children: ComponentChildren;
}

/** The DNS server's switch, and the address at which it listens. */
export function ServerFields({ children, ...members }: ServerFieldsProps) {
  const words = useWords();
  const { now, onChange } = members;
  return (
    <div class="stack fields">
      <Switch
        label={words('dns.enabled')}
        hint={words('dns.enabledHint')}
        checked={now.enabled}
        onChange={(enabled) => onChange({ enabled })}
      />
      {children}
      <div class="pair">
        {has(members, 'bind') && (
          <TextField
            {...VERBATIM}
            label={words('dns.bind')}
            placeholder="127.0.0.1"
            value={typeof now.bind === 'string' ? now.bind : ''}
            onType={(address) => onChange({ bind: address.trim() === '' ? undefined : address.trim() })}
          />
        )}
        <NumberMember
          {...members}
          member="local_port"
          label={words('config.bindPort')}
          fallback="50053"
          most={65_535}
        />
      </div>
      {'intercept_all_port53' in now && (
        <Switch
          label={words('dns.intercept')}
          checked={now.intercept_all_port53 === true}
          onChange={(on) => onChange({ intercept_all_port53: on })}
        />
      )}
    </div>
  );
}

/** The age of blocklists, and the answer for names on them. */
function BlockingMembers(members: MembersProps) {
  const words = useWords();
  const { now, onChange } = members;
  return (
    <>
      <NumberMember {...members} member="refresh_hours" label={words('dns.refreshHours')} fallback="24" most={576} />
      {has(members, 'blocked_answer') && (
        <Field label={words('dns.blockedAnswer')}>
          {(control) => (
            <Select
              {...control}
              names={ANSWERS}
              value={ANSWERS.find((name) => name === now.blocked_answer) ?? 'nxdomain'}
              onChoose={(answer) => onChange({ blocked_answer: answer })}
            >
              {(name) => words(`dns.answer.${name}`)}
            </Select>
          )}
        </Field>
      )}
    </>
  );
}

interface CustomNamesProps {
  readonly rows: readonly NameRow[];
  readonly problems: readonly (string | null)[];
  readonly onChange: (rows: readonly NameRow[]) => void;
}

function CustomNames({ rows, problems, onChange }: CustomNamesProps) {
  const words = useWords();
  const columns = [
    { member: 'name', label: words('keys.name'), example: '*.home.example' },
    { member: 'address', label: words('config.bindHost'), example: '192.0.2.1' },
  ] as const;
  const edit = (edited: NameRow, members: Partial<NameRow>) =>
    onChange(rows.map((row) => (row === edited ? { ...row, ...members } : row)));
  return (
    <div class="stack tight names" role="group" aria-label={words('dns.custom')}>
      {rows.length === 0 && <p class="hint">{words('dns.noCustom')}</p>}
      {rows.map((row, index) => (
        <div key={index} class="name-row">
          {columns.map(({ member, label, example }) => (
            <input
              key={member}
              {...VERBATIM}
              aria-label={label}
              placeholder={example}
              autocomplete="off"
              aria-invalid={problems[index] !== null}
              value={row[member]}
              onInput={(event) => edit(row, { [member]: event.currentTarget.value })}
            />
          ))}
          <IconButton
            icon="trash"
            label={`${words('action.remove')} ${row.name}`}
            onClick={() => onChange(rows.filter((other) => other !== row))}
          />
          {problems[index] !== null && <p class="hint hint-bad">{problems[index]}</p>}
        </div>
      ))}
      <Button kind="small" icon="plus" onClick={() => onChange([...rows, { name: '', address: '' }])}>
        {words('action.add')}
      </Button>
    </div>
  );
}
