import './rehearse.test.js';
