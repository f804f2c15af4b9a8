import type { Revision } from '../src/wire/traits/revision.js';
import { line0_2_0 } from './0.2.0.js';
import { line0_2_25 } from './0.2.25.js';
import { line0_2_35 } from './0.2.35.js';
import { line0_2_36 } from './0.2.36.js';
import { line0_2_51 } from './0.2.51.js';
import { line0_2_84 } from './0.2.84.js';
import { line0_3_7 } from './0.3.7.js';
import { line0_4_0 } from './0.4.0.js';
import { line0_4_6 } from './0.4.6.js';
import { line0_4_7 } from './0.4.7.js';
import { current } from './current.js';
import { dns } from './dns.js';
import { earliest } from './earliest.js';

/** Every API shape that Keyway speaks, oldest first. */
export const REVISIONS: readonly Revision[] = [
  line0_2_0,
  line0_2_25,
  earliest,
  line0_2_35,
  line0_2_36,
  dns,
  line0_2_51,
  line0_2_84,
  current,
  line0_3_7,
  line0_4_0,
  line0_4_6,
  line0_4_7,
];

/** How servers of each line read their file. */
export const SERVER_FILES = REVISIONS.map(({ file }) => file);

/** The revision that is served when nobody says otherwise. */
export const DEFAULT_REVISION = current.id;
