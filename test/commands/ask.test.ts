import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { askLine, askSecret } from '../../src/commands/ask.js';

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

describe('askLine', () => {
  const asked = (keys: string) => {
    const input = new PassThrough();
    const output = new PassThrough();
    const answer = askLine(input, output, 'Address: ', (line) => (line === 'wrong' ? 'Expected another.' : null));
    input.write(keys);
    const shown = () => {
      output.end();
      return text(output);
    };
    return { answer, shown };
  };

  it('shows what is typed and understands backspace', async () => {
    const { answer, shown } = asked('192.0.2.78\u007f\r');
    expect(await answer).toBe('192.0.2.7');
    expect(await shown()).toContain('Address: ');
  });

  it('asks again where something is wrong with the answer, and shows what is typed then once', async () => {
    const { answer, shown } = asked('wrong\rright\r');
    expect(await answer).toBe('right');
    expect(stripVTControlCharacters(await shown())).toMatch(
      /Address: wrong\r?\nExpected another\.\r?\nAddress: right\r?\n$/,
    );
  });

  it.each(['half\u0003', '\u0004'])('broken off with %j is no answer', async (keys) => {
    expect(await asked(keys).answer).toBeNull();
  });
});
