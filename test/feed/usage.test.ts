import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { KEPT_AFTER_REMOVAL } from '../../src/core/keys/removed-keys.js';
import { MAX_U64 } from '../../src/core/model.js';
import { FEED_TOKEN, feedStage, report, until } from './stage.js';

const countersOf = ({ gateway }: Awaited<ReturnType<typeof feedStage>>, key: string) => {
  const counters = gateway.core.keys.get(key)?.counters;
  return [counters?.bytesUp, counters?.bytesDown, counters?.connections];
};

describe('POST /v1/usage', () => {
  it('adds bytes, sets connections, leaves them where they are absent, and names unknown keys once', async () => {
    const stage = await feedStage({ keys: ['a', 'b'] });
    const first = await stage.post('/v1/usage', report(null, ['a', 1, 2, 3], ['b', 4, 5], ['x', 1, 1], ['x', 1, 1]));
    expect([first.status, first.body]).toEqual([200, { durable: true, repeated: false, unknown_keys: ['x'] }]);
    await stage.post('/v1/usage', report(null, ['a', 10, 20], ['a', 100, 200]));
    expect(countersOf(stage, 'a')).toEqual([111n, 222n, 3n]);
    expect(countersOf(stage, 'b')).toEqual([4n, 5n, 0n]);
    expect(stage.gateway.core.keys.active).toBe(2);
    expect(first.headers.get('content-type')).toBe('application/json');
  });

  it('a repeated report is acknowledged and not counted twice, also after a restart', async () => {
    const stage = await feedStage({ keys: ['a'] });
    await stage.post('/v1/usage', report('r1', ['a', 1, 2]));
    const again = await stage.post('/v1/usage?ack=memory', report('r1', ['a', 1, 2], ['gone', 1, 1]));
    expect([again.status, again.body]).toEqual([200, { durable: false, repeated: true, unknown_keys: ['gone'] }]);
    await stage.close();
    const later = await feedStage(stage);
    expect((await later.post('/v1/usage', report('r1', ['a', 1, 2]))).body).toMatchObject({ repeated: true });
    expect(countersOf(later, 'a')).toEqual([1n, 2n, 0n]);
  });

  it('what was acknowledged, its connections and the time of creation are there after a restart', async () => {
    const stage = await feedStage({ keys: ['a', { access_key: 'b', limit_bytes: 5 }] });
    await stage.post('/v1/usage?ack=memory', report(null, ['a', 1, 2, 9], ['b', 3, 4]));
    const before = ['a', 'b'].map((key) => stage.gateway.core.keys.get(key)?.counters);
    await stage.close();
    const later = await feedStage(stage);
    expect(['a', 'b'].map((key) => later.gateway.core.keys.get(key)?.counters)).toEqual(before);
    expect(later.gateway.core.keys.get('b')?.overLimit).toBe(true);
  });

  it('a sum that would pass 2^64-1 stays there and is logged once per key', async () => {
    const stage = await feedStage({ keys: ['a', 'b'] });
    const huge = `{"entries":[{"access_key":"a","bytes_up":${MAX_U64},"bytes_down":7}]}`;
    await stage.post('/v1/usage', huge);
    await stage.post('/v1/usage', report(null, ['a', 1, 1], ['b', 1, 1]));
    await stage.post('/v1/usage', huge);
    expect(countersOf(stage, 'a')).toEqual([MAX_U64, 15n, 0n]);
    expect(stage.lines.filter((line) => line.includes('2^64-1'))).toHaveLength(1);
    expect(stage.lines.join()).not.toContain('"key":"a"');
  });

  const REFUSED: readonly (readonly string[])[] = [
    ['half a text', '{"entries":[{', 'body is no JSON: unexpected end of input at line 1 column 14'],
    ['an array', '[]', 'body: expected a JSON object'],
    ['no entries', '{}', 'entries: expected an array of entries'],
    ['an entry that is no object', '{"entries":[[]]}', 'entries[0]: expected a JSON object'],
    [
      'no key',
      '{"entries":[{"bytes_up":1,"bytes_down":1}]}',
      'entries[0].access_key: expected a string that is not empty',
    ],
    [
      'no bytes',
      '{"entries":[{"access_key":"a","bytes_up":1}]}',
      'entries[0].bytes_down: expected an unsigned 64-bit integer',
    ],
    ...['-1', '1.5', '1.0', '1e3', '"1"', 'null', '18446744073709551616', '-0'].map((number) => [
      `bytes ${number}`,
      `{"entries":[{"access_key":"a","bytes_up":1,"bytes_down":1},{"access_key":"a","bytes_up":${number},"bytes_down":1}]}`,
      'entries[1].bytes_up: expected an unsigned 64-bit integer',
    ]),
    [
      'connections',
      '{"entries":[{"access_key":"a","bytes_up":1,"bytes_down":1,"connections":-1}]}',
      'entries[0].connections: expected an unsigned 64-bit integer',
    ],
    [
      'a repeated member',
      '{"entries":[{"access_key":"a","access_key":"b"}]}',
      'entries[0].access_key: expected one member of this name',
    ],
    ['an empty id', '{"report_id":"","entries":[]}', 'report_id: expected a string of 1 to 200 characters, or null'],
    [
      'more behind it',
      '{"entries":[{"access_key":"a","bytes_up":1,"bytes_down":1}]} {}',
      "body is no JSON: unexpected '{', expected the end of input at line 1 column 62",
    ],
    ['nothing', '', 'body: expected a JSON object'],
    ...[
      '{"report_id":"?","entries":[]}',
      '{"entries":[],"?":1}',
      '{"entries":[{"access_key":"?","bytes_up":1,"bytes_down":1}]}',
    ].map((body) => [
      `half of a surrogate pair in ${body}`,
      body.replace('?', '\\ud83d'),
      `body is no Unicode text: lone surrogate \\ud83d (half of a character) at line 1 column ${body.indexOf('?') + 1}`,
    ]),
  ];

  it('what is no report is a 400 that says where, and nothing is counted', async () => {
    const stage = await feedStage({ keys: ['a'] });
    for (const [what, body, error] of REFUSED) {
      const answer = await stage.post('/v1/usage', body);
      expect([answer.status, answer.body], what).toEqual([400, { error }]);
    }
    expect(countersOf(stage, 'a')).toEqual([0n, 0n, 0n]);
  });

  it('another content type, another ack, 10 MB and bytes that are no UTF-8 are refused', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const body = report(null, ['a', 1, 1]);
    expect((await stage.post('/v1/usage', body, { 'content-type': 'text/plain' })).body).toEqual({
      error: 'Content-Type: expected application/json',
    });
    expect((await stage.post('/v1/usage?ack=later', body)).body).toEqual({
      error: 'ack: expected "durable" or "memory"',
    });
    const big = await stage.post('/v1/usage', ' '.repeat(10 * 1024 * 1024));
    expect([big.status, big.body]).toEqual([
      413,
      { error: 'request body too large: at most 4194304 bytes are accepted' },
    ]);
    expect(countersOf(stage, 'a')).toEqual([0n, 0n, 0n]);
  });

  it('a wrong or missing token is a 401 before the body is read', async () => {
    const stage = await feedStage({ keys: ['a'] });
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'Bearer wrong',
      `Bearer ${FEED_TOKEN} `,
      `bearer ${FEED_TOKEN}`,
      'api-token',
    ]) {
      const answer = await stage.post('/v1/usage', report(null, ['a', 1, 1]), { authorization });
      const isTrimmed = authorization.trim() === `Bearer ${FEED_TOKEN}`;
      expect(answer.status, authorization).toBe(isTrimmed ? 200 : 401);
    }
    expect((await stage.get('/v1/keys', { authorization: 'no' })).status).toBe(401);
  });

  it('a half-sent report counts nothing', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const body = JSON.stringify(report(null, ['a', 1, 1]));
    const socket = connect(Number(new URL(stage.url).port), '127.0.0.1');
    socket.write(
      `POST /v1/usage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${FEED_TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length + 1}\r\n\r\n${body}`,
      () => socket.destroy(),
    );
    await new Promise((resolve) => socket.once('close', resolve));
    expect((await stage.post('/v1/usage', report(null))).status).toBe(200);
    expect(countersOf(stage, 'a')).toEqual([0n, 0n, 0n]);
  });

  it('other paths are a 404, other methods a 405 with Allow', async () => {
    const stage = await feedStage({ keys: [] });
    expect((await stage.get('/v1/nothing')).status).toBe(404);
    const answer = await stage.get('/v1/usage');
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('counters while keys come and go', () => {
  const list = async ({ gateway }: Awaited<ReturnType<typeof feedStage>>) =>
    JSON.parse(
      (await gateway.app.inject({ url: '/panel/api/users', headers: { authorization: 'api-token' } })).payload,
    ).data.map(({ access_key, bytes_down }: { access_key: string; bytes_down: number }) => [access_key, bytes_down]);

  it('a key that leaves by an edit leaves the answers at once and comes back with its counters, also over a restart', async () => {
    const stage = await feedStage({ keys: ['a', 'b'] });
    await stage.post('/v1/usage', report(null, ['a', 1, 2], ['b', 1, 9]));
    const body = (keys: string[]) =>
      JSON.stringify({ mode: 'server', api: { enabled: true, token: 'api-token' }, access_keys: keys });
    const put = ({ gateway }: typeof stage, keys: string[]) =>
      gateway.app.inject({
        method: 'PUT',
        url: '/panel/api/server/config',
        headers: { authorization: 'api-token', 'content-type': 'application/json' },
        payload: body(keys),
      });
    expect((await put(stage, ['a'])).statusCode).toBe(200);
    expect(await list(stage)).toEqual([['a', 2]]);
    await stage.close();
    const later = await feedStage(stage);
    expect((await put(later, ['a', 'b'])).statusCode).toBe(200);
    expect(await list(later)).toEqual([
      ['b', 9],
      ['a', 2],
    ]);
  });

  it('counters of a key that was deleted, or created again, or reset are gone, also over a restart', async () => {
    const stage = await feedStage({ keys: ['a', 'b', 'c'] });
    await stage.post('/v1/usage', report(null, ['a', 1, 2], ['b', 1, 9], ['c', 3, 4, 5]));
    await stage.gateway.core.deleteUser('a');
    await stage.gateway.core.createUser({ accessKey: 'b', name: null, limitBytes: null });
    await stage.gateway.core.resetUser('c');
    await stage.close();
    const later = await feedStage(stage);
    await later.gateway.core.createUser({ accessKey: 'a', name: null, limitBytes: null });
    for (const key of ['a', 'b', 'c']) expect(countersOf(later, key)).toEqual([0n, 0n, 0n]);
  });

  it('departed counters are dropped after 30 days', async () => {
    const time = { now: Date.UTC(2026, 0, 1), monotonic: 0 };
    const clock = { now: () => time.now, monotonic: () => time.monotonic };
    const stage = await feedStage({ keys: ['a'] }, { clock });
    await stage.post('/v1/usage', report(null, ['a', 1, 2]));
    stage.gateway.local?.keys.replaceAll([]);
    time.now += KEPT_AFTER_REMOVAL - 1;
    time.monotonic += 3_600_001;
    await until(() => stage.gateway.local?.counters.store?.status().lastWriteError === null);
    expect(stage.gateway.local?.keys.kept('a')?.bytesDown).toBe(2n);
    time.now += 1;
    time.monotonic += 3_600_001;
    await until(() => stage.gateway.local?.keys.kept('a') === null);
  });
});
