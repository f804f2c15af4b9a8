import { expect, it } from 'vitest';
import { auditListOf } from '../../panel/state/audit-list.js';
import { gate } from './gate.js';
import { openDesk, said } from './without-browser.js';

it('the audit list stays empty after it was cleared, though an answer was asked for before', async () => {
  const { workspace, call, on } = await openDesk('current');
  await call('POST', 'api/audit', { eventEn: 'Door opened', eventRu: '', success: true });
  const list = auditListOf(workspace);
  await list.load();
  expect(list.entries.get()).toMatchObject([{ eventEn: 'Door opened' }]);
  const answered = gate();
  on(/GET api.audit/, async (_call, next) => {
    const answer = await next();
    await answered.opened;
    return answer;
  });
  const loading = list.load();
  await list.clear();
  answered.open();
  await loading;
  expect([list.entries.get(), said(), await call('GET', 'api/audit')]).toEqual([[], ['Audit log cleared.'], []]);
});
