// The suite of a client, for docs/replay-ci.md: it works with every revision, and says what it found.
import assert from 'node:assert/strict';

const { SERVER, KEYWAY_TOKEN } = process.env;

async function ask(path, token, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(
    SERVER + path,
    body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
  );
  return answer.headers.get('content-type')?.startsWith('application/json') ? await answer.json() : { ok: false };
}

const login = await ask('/login', '', { username: 'admin', password: 'password' });
const token = login.data?.token ?? KEYWAY_TOKEN;
const made = await ask('/users', token, { access_key: `key-${Date.now()}` });
assert.equal(made.ok, true, JSON.stringify(made));
const { data } = await ask('/users', token);
assert.ok(data.some(({ access_key: key }) => key === made.data.access_key));
process.stdout.write(`passed against ${SERVER} with ${data.length} keys\n`);
