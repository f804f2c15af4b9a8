import './later-lines.test.js';
