import { buildIfOlder } from './building.js';

/** What a run over the built sources needs before its first test file. */
export default buildIfOlder;
