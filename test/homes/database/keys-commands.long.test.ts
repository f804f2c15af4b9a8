import './keys-commands.test.js';
