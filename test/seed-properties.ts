import fc from 'fast-check';
import { SEED } from './seed.js';

fc.configureGlobal({ seed: SEED });
