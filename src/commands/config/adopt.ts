import { SERVER_FILES } from '../../../revisions/all.js';
import { type Adoption, planAdoption } from '../../document/check/adoption.js';
import { endedForAll } from '../../document/check/keeps-starting.js';
import { isOn, type ParsedFlags, switchFlag } from '../../settings/flags.js';
import { prettyJson } from '../../wire/json/json.js';
import { encodeJson } from '../../wire/json/write-json.js';
import { carriedText, keyJson, keyText } from './check.js';
import { fileCommand, JSON_FLAG, plainText, replaceNamed } from './file.js';

export const configAdopt = fileCommand({
  name: 'config adopt',
  settings: ['dataDir', 'inPlace'],
  flags: [
    switchFlag('add'),
    switchFlag('remove'),
    switchFlag('update'),
    { flag: 'key', placeholder: 'K', repeatable: true },
    JSON_FLAG,
  ],
  work: async (file, { output }) => {
    const { named, target, flags } = file;
    const asked = isOn(flags, 'add') || isOn(flags, 'remove') || isOn(flags, 'update');
    const adoption = planAdoption(target.bytes, requestOf(flags));
    const json = isOn(flags, JSON_FLAG.flag);
    if (adoption === null) {
      output.line(
        json
          ? jsonText(NOTHING, false)
          : 'Nothing is to be adopted: the file has no root access_keys next to its inbounds.',
      );
      return 0;
    }
    const changes = adoption.bytes !== target.bytes;
    const ended = changes ? endedForAll(target.bytes, adoption.bytes, SERVER_FILES) : null;
    if (ended !== null) throw new Error(`nothing is written: its server would not start any more: ${ended}`);
    if (!json) for (const line of planText(adoption, asked)) output.line(line);
    if (changes) await replaceNamed(file, adoption.bytes, { forever: false });
    if (json) output.line(jsonText(adoption, changes));
    else if (changes) output.line(`${named} is written. What it was is kept: keyway config list --config ${named}`);
    return 0;
  },
  help: (settings) => `Usage: keyway config adopt FILE [--add] [--remove] [--update] [--key K…] [--json]

Servers whose file has inbounds write the keys of their own API to a root access_keys, which may be
months old and which Keyway does not read. This takes over from it what is asked for, and shows it
before it writes:

  --add     keys that stand only in access_keys go to the first inbound for keys
  --remove  keys that stand only in the inbounds go; they may have been deleted through that API
  --update  keys in both get the name and the limit that access_keys has
  --key K   only this key; repeatable

Without --add, --remove and --update it shows how the two differ and changes nothing. The root
access_keys stays whole until every element of it says what the inbounds say, because a server takes
it for all keys that there are; then it is removed. Servers up to 0.3.10 need it: the next change of
a key through a Keyway that serves with --server-version makes it again. Stop the server before: what
it holds in memory it writes again. Everything else in the file stays as it is, and what the file was
is kept as a version ("keyway config list"). A Keyway that serves the file does it itself.

${settings}
  --json           Print what was done as JSON.

  keyway config adopt server.jsonc
  keyway config adopt server.jsonc --add --update`,
});

const NOTHING: Omit<Adoption, 'bytes'> = {
  added: [],
  removed: [],
  updated: [],
  left: { onlyInList: [], onlyInInbounds: [], differing: [] },
  withoutKey: [],
  listRemoved: null,
};

function requestOf(flags: ParsedFlags) {
  const keys = flags.values.get('key');
  return {
    add: isOn(flags, 'add'),
    remove: isOn(flags, 'remove'),
    update: isOn(flags, 'update'),
    keys: keys === undefined ? null : new Set(keys),
  };
}

function planText(adoption: Adoption, asked: boolean): readonly string[] {
  const { added, removed, updated, left, listRemoved, withoutKey } = adoption;
  const lines = [
    ...added.map((key) => `+ ${keyText(key)}`),
    ...removed.map((key) => `- ${keyText(key)}`),
    ...updated.map(({ inList, inInbounds }) => {
      return `~ ${plainText(inList.accessKey)}: ${carriedText(inInbounds)} becomes ${carriedText(inList)}`;
    }),
    ...(listRemoved === null ? [] : [`- the root access_keys (${listRemoved.elements}): nothing is left in it`]),
    ...(listRemoved?.comments ?? []).map((comment) => `    with the comment ${comment}`),
    ...(listRemoved?.members ?? []).map(({ place, count }) => `    with the member ${place}${manyText(count)}`),
  ];
  const open = [
    ...left.onlyInList.map((key) => `  only in access_keys (--add): ${keyText(key)}`),
    ...left.onlyInInbounds.map((key) => `  only in inbounds (--remove): ${keyText(key)}`),
    ...left.differing.map(({ inList, inInbounds }) => {
      const texts = `${carriedText(inInbounds)}; in access_keys ${carriedText(inList)}`;
      return `  with another name or limit (--update): ${plainText(inList.accessKey)}: ${texts}`;
    }),
    ...withoutKey.map((index) => `  without a key: access_keys[${index}]`),
  ];
  const nothing = asked ? 'Nothing changes.' : 'Nothing was asked for, and nothing changes.';
  return [
    ...(lines.length === 0 ? [nothing] : lines),
    ...(open.length === 0 ? [] : ['Left as it is:', ...open]),
    ...(open.length === 0 && !asked ? ['The two say the same: --add removes the root access_keys.'] : []),
  ];
}

function manyText(count: number): string {
  return count === 1 ? '' : ` and ${count - 1} more`;
}

function jsonText(
  { added, removed, updated, left, listRemoved, withoutKey }: Omit<Adoption, 'bytes'>,
  written: boolean,
): string {
  const pairs = (keys: Adoption['updated']) => {
    return keys.map(({ inList, inInbounds }) => ({ inList: keyJson(inList), inInbounds: keyJson(inInbounds) }));
  };
  const record = {
    added: added.map(keyJson),
    removed: removed.map(keyJson),
    updated: pairs(updated),
    left: {
      onlyInList: left.onlyInList.map(keyJson),
      onlyInInbounds: left.onlyInInbounds.map(keyJson),
      differing: pairs(left.differing),
      withoutKey,
    },
    listRemoved: listRemoved !== null,
    written,
  };
  return prettyJson(Buffer.from(encodeJson(record))).toString('utf8');
}
