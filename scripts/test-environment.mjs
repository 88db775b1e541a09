import { constants, createContext } from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Globals that tests share with Node.js: a context has classes of its own by these names, but tests get instances of
 * Node.js's classes.
 */
const SHARED_WITH_NODE = ['ArrayBuffer', 'Uint8Array'];

/**
 * Jest's environment for Node.js, with an ordinary global object. Jest's own global object is one whose names Node.js
 * intercepts: each use of a name such as `Object` or `Promise` takes some 250 ns.
 */
export default class OrdinaryEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    const global = createContext(constants.DONT_CONTEXTIFY);
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(this.global))) {
      if (Object.hasOwn(global, name) && !SHARED_WITH_NODE.includes(name)) continue;
      Object.defineProperty(global, name, 'value' in descriptor ? descriptor : lookedUpOnce(global, name));
    }
    for (const symbol of Object.getOwnPropertySymbols(this.global)) global[symbol] = this.global[symbol];
    global.global = global;
    global.Error.stackTraceLimit = this.global.Error.stackTraceLimit;
    this.global = global;
    this.context = global;
    this.moduleMocker = new this.moduleMocker.constructor(global);
    this.fakeTimersModern = new this.fakeTimersModern.constructor({ config: config.projectConfig, global });
  }
}

/**
 * Returns a property that takes the value of Node.js itself at its first use: some values take long to load, and few
 * tests use them.
 */
function lookedUpOnce(global, name) {
  const set = (value) => Object.defineProperty(global, name, { configurable: true, writable: true, value });
  const get = () => {
    set(globalThis[name]);
    return globalThis[name];
  };
  return { configurable: true, enumerable: true, get, set };
}
