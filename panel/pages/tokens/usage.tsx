import { useMemo, useState } from 'preact/hooks';
import { formatExact } from '../../../src/text/sizes.js';
import type { UsageRow } from '../../api/usage.js';
import { fullTime, useWords } from '../../i18n/text.js';
import { type Caller, lastDays, OWN, type RevisionUse, useByRevision } from '../../state/revision-use.js';
import { Age } from '../../ui/age.js';
import { Segments } from '../../ui/button.js';
import { Empty, Listed } from '../../ui/notice.js';
import { Scrolls, Table } from '../../ui/page.js';
import { whoText } from '../../ui/who.js';

/** The answer to who uses what. */
export interface KnownUsage {
  /** Null until it has come. */
  readonly rows: readonly UsageRow[] | null;
  readonly error: unknown;
}

const PERIODS = ['7', '30', '90'] as const;

/** The programs that still use each revision, which an end of it would cut off. */
export function Usage({ usage: { rows, error } }: { readonly usage: KnownUsage }) {
  const words = useWords();
  const [period, setPeriod] = useState<(typeof PERIODS)[number]>('30');
  const revisions = useMemo(
    () => (rows === null ? null : useByRevision(lastDays(rows, Number(period), Date.now()))),
    [rows, period],
  );
  return (
    <>
      <Segments label={words('usage.period')} names={PERIODS} chosen={period} onChoose={setPeriod}>
        {(days) => words('time.days', { n: Number(days) })}
      </Segments>
      <Listed
        items={revisions}
        error={error}
        empty={<Empty icon="tokens" title={words('usage.none')} text={words('usage.noneText')} />}
      >
        {(uses) => (
          <div class="card card-flush entries">
            {uses.map((use) => (
              <Revision key={use.revision} use={use} />
            ))}
          </div>
        )}
      </Listed>
      <p class="hint">{words('usage.note')}</p>
    </>
  );
}

function Revision({ use }: { readonly use: RevisionUse }) {
  const words = useWords();
  const { revision, sunset, callers, calls, lastSeen } = use;
  const isOwn = revision === OWN;
  const calling = [words('usage.by'), words('usage.program'), words('usage.callsHead')];
  const heads = [...calling, words('usage.days'), words('usage.lastHead')];
  return (
    <details class="entry">
      <summary class="line">
        <strong class="mono">{isOwn ? words('usage.own') : revision}</strong>
        {sunset !== null && (
          <span class="badge badge-warn">{words('usage.sunset', { time: fullTime(sunset, words.language) })}</span>
        )}
        <span class="hint">
          {words('usage.callers', { n: callers.length })} · {words('usage.calls', { n: calls })} ·{' '}
          <Age time={lastSeen} />
        </span>
      </summary>
      <p>{words(isOwn ? 'usage.usedBy' : 'usage.cutOff', { revision, n: callers.length })}</p>
      <Scrolls class="entry-table" label={revision}>
        <Table heads={heads}>
          {callers.map((caller) => (
            <Row key={`${caller.by} ${caller.program}`} caller={caller} />
          ))}
        </Table>
      </Scrolls>
    </details>
  );
}

function Row({ caller: { by, program, calls, days, lastSeen, operations } }: { readonly caller: Caller }) {
  const words = useWords();
  return (
    <tr title={operations.join(', ')}>
      <td>{whoText(by, words)}</td>
      <td class="mono">{program === '' ? '—' : program.slice(0, 120)}</td>
      <td>{formatExact(calls, words.language)}</td>
      <td>{formatExact(days.size, words.language)}</td>
      <td>
        <Age time={lastSeen} />
      </td>
    </tr>
  );
}
