import { UNCHANGED } from '../../client/find-line.js';
import type { UpstreamServer, UpstreamTrouble } from '../../client/server.js';
import type { Problem, ProblemName } from '../../core/backend.js';
import type { Notes } from './write-journal.js';

const NAMES: Readonly<Record<UpstreamTrouble['kind'], ProblemName>> = {
  away: 'upstream_away',
  refused: 'upstream_refused',
};

/** What is wrong with a server and with what is noted of it. */
export function problemsOf(
  server: Pick<UpstreamServer, 'name' | 'version' | 'isLater' | 'troubles'>,
  notes: Pick<Notes, 'problem'>,
  { stale, isUnreadable }: { readonly stale: number | null; readonly isUnreadable: boolean },
): Problem[] {
  const problems: Problem[] = [];
  for (const { of, kind, since, reason } of server.troubles()) {
    const when = new Date(since).toISOString();
    problems.push({ problem: NAMES[kind], reason: `${server.name}, ${of}, since ${when}: ${reason}` });
  }
  if (server.isLater())
    problems.push({
      problem: 'upstream_later',
      reason: `${server.name} reports version ${server.version()}: ${UNCHANGED}`,
    });
  if (isUnreadable)
    problems.push({
      problem: 'upstream_configuration_unreadable',
      reason: `the configuration file of ${server.name} cannot be read, and it may not start again: keyway config restore`,
    });
  if (stale !== null)
    problems.push({
      problem: 'stale',
      reason: `lists are as known ${Math.floor(stale / 1000)} s ago: ${server.name} is away`,
    });
  const unwritable = notes.problem();
  if (unwritable !== null) {
    const reason = `changes that the server may yet lose cannot be noted: ${unwritable}`;
    problems.push({ problem: 'upstream_notes_unwritable', reason });
  }
  return problems;
}
