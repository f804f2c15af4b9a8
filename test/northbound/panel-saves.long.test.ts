import './panel-saves.test.js';
