import './own-writes.test.js';
