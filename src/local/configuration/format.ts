import type { RootListBeside } from '../../wire/traits/file-reading.js';
import { keysInRootList, rootListTrouble } from '../document/beside-inbounds.js';
import { changeDocument } from '../document/change.js';
import { type ConfigurationDocument, losesInbounds, readDocument } from '../document/document.js';
import { recordsOf } from '../document/key-changes.js';
import type { ConfigurationFormat } from './known-file.js';

const IN_FRONT = 'stand in front of such a server, with --upstream and the address of its API';

const TROUBLES = {
  'ends reloads': `access_keys: a server has written the keys of its own API beside the inbounds, and an element with "access_key" ends its live reloads: no change of this file is live before its restart, and that reads the inbounds alone; ${IN_FRONT}`,
  'is there': `access_keys: a server has written the keys of its own API beside the inbounds, which are all that its next start reads: keys made over its API are gone then, deleted ones are back, and names and limits that it was given are not live; ${IN_FRONT}`,
  'is taken back': `another program writes this file with inbounds, too, and takes changes of Keyway's back: they are live only until its next write, rules and DNS settings not before its restart; ${IN_FRONT}`,
  'lacks keys':
    'access_keys: servers before 0.3.11 drop every key of the inbounds that it lacks, 5 s after their start; the next change of a key puts all of them there',
} as const;

/** What the layouts of the configuration file are read and changed with, where servers read a root list `beside` inbounds. */
export function formatBeside(beside: RootListBeside): ConfigurationFormat<ConfigurationDocument> {
  return {
    read: readDocument,
    change: (document, asked, room) => changeDocument(document, asked, room, beside),
    records: recordsOf,
    losesInbounds,
    inRootList: keysInRootList,
    trouble(document, { isTakenBack }) {
      if (document.layout.name !== 'inbounds') return null;
      const trouble = rootListTrouble(document, beside) ?? (isTakenBack ? 'is taken back' : null);
      return trouble === null ? null : TROUBLES[trouble];
    },
  };
}
