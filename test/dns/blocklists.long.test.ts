import './blocklists.test.js';
