import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLog, redactSecrets } from '../../src/platform/log.js';

async function gatheringLog(pretty = false) {
  const lines: string[] = [];
  const log = await createLog({ level: 'info', pretty, to: { write: (line) => lines.push(line) } });
  return { log, lines };
}

describe('the log', () => {
  it('writes one JSON object a line, with level, ISO time, fields and message', async () => {
    const { log, lines } = await gatheringLog();
    log.warn({ url: 'http://127.0.0.1:1' }, 'careful');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      url: 'http://127.0.0.1:1',
      msg: 'careful',
    });
  });

  it('leaves out lines below its level, and says what an error was', async () => {
    const { log, lines } = await gatheringLog();
    log.debug({}, 'fine');
    expect(lines).toEqual([]);
    log.error({ error: new Error('disk full') }, 'not saved');
    expect(lines[0]).toContain('disk full');
  });

  it('for a terminal writes a readable line with the message', async () => {
    const { log, lines } = await gatheringLog(true);
    log.info({ token: 'hunter2' }, 'listening');
    expect(lines.join('')).toMatch(/INFO.*listening/);
    expect(lines.join('')).not.toContain('hunter2');
  });
});

describe('redactSecrets', () => {
  const secretName = fc.constantFrom(
    'token',
    'Authorization',
    'password',
    'password_hash',
    'passwordHash',
    'access_key',
    'accessKey',
  );
  it('shows no value under a secret name, however it is spelled and down to four levels', () => {
    const nested = fc.tuple(secretName, fc.array(fc.string(), { maxLength: 3 }), fc.string());
    fc.assert(
      fc.property(nested, ([name, path, text]) => {
        const secret = `hunter2${text}`;
        const fields = path.reduce<Record<string, unknown>>((inner, at) => ({ [`in ${at}`]: inner }), {
          [name]: secret,
        });
        expect(JSON.stringify(redactSecrets(fields))).not.toContain('hunter2');
      }),
    );
  });

  it('leaves everything else as it is', () => {
    const fields = { key: '01ba4719', list: [1, { a: null }], when: new Date(0), tokens: 3 };
    expect(redactSecrets(fields)).toEqual(fields);
  });
});
