import './transfer.test.js';
