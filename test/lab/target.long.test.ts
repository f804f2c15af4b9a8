import { describePack } from './target-packs.js';
import './target.test.js';

describePack('earliest', ['earliest', 'recorded/0.2.34']);
describePack('dns', ['dns', 'recorded/0.2.48']);
