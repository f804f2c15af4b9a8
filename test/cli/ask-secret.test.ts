import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { askSecret } from '../../src/commands/ask-secret.js';

/** A terminal that writes down what happens to it. */
function fakeTerminal() {
  const events: string[] = [];
  const input = Object.assign(new PassThrough(), { setRawMode: (raw: boolean) => events.push(raw ? 'raw' : 'cooked') });
  const output = { write: (text: string) => events.push(text) };
  return { events, input, ask: () => askSecret(input, output, 'Password: ') };
}

describe('askSecret', () => {
  it('switches the echo off before it asks, on again afterwards, and writes nothing of the answer', async () => {
    const { events, input, ask } = fakeTerminal();
    const answer = ask();
    input.write('pass');
    input.write('word\r');
    expect(await answer).toBe('password');
    expect(events).toEqual(['raw', 'Password: ', 'cooked', '\n']);
  });

  it('understands backspace, Ctrl-U and letters outside ASCII', async () => {
    const { input, ask } = fakeTerminal();
    const answer = ask();
    input.write('wrong\u0015пароx\u007fль\n');
    expect(await answer).toBe('пароль');
  });

  it.each(['pass\u0003', '\u0004'])('broken off with %j is no answer', async (keys) => {
    const { events, input, ask } = fakeTerminal();
    const answer = ask();
    input.write(keys);
    expect(await answer).toBeNull();
    expect(events).toContain('cooked');
  });

  it('of a terminal that goes away is no answer', async () => {
    const { input, ask } = fakeTerminal();
    const answer = ask();
    input.end();
    expect(await answer).toBeNull();
  });

  it('asks a second time on the same terminal', async () => {
    const { input, ask } = fakeTerminal();
    const first = ask();
    input.write('one\r');
    expect(await first).toBe('one');
    const second = ask();
    input.write('two\r');
    expect(await second).toBe('two');
  });
});
