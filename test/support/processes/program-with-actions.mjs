/**
 * The built program with actions that succeed, fail or never end by themselves, for tests that end the process
 * meanwhile.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { createApp } from '../../../dist/create-app.js';
import { ActionFailure, ActionHandler } from '../../../dist/governance/executions/handlers/action-handlers.js';
import { stopOnSignals } from '../../../dist/program/start/start-service.js';

class Actions {
  succeed() {
    return { moved: 3, note: 'done' };
  }

  fail() {
    throw new ActionFailure('The mailbox is full.');
  }

  hang() {
    return new Promise(() => undefined);
  }

  /** Appends a line to the file that the parameters name: an effect outside the service. */
  async write({ parameters, executionId }) {
    await sleep(parameters.before);
    appendFileSync(parameters.file, `${executionId}\n`);
    await sleep(parameters.after);
    return null;
  }

  /** Runs until the file that the parameters name exists. */
  async wait({ parameters, signal }) {
    while (!existsSync(parameters.file) && !signal.aborted) await sleep(20);
    return { ranIn: process.pid };
  }
}
for (const action of ['succeed', 'fail', 'hang', 'wait', 'write']) {
  ActionHandler(action)(Actions.prototype, action, Object.getOwnPropertyDescriptor(Actions.prototype, action));
}

class ActionsModule {}
Module({ providers: [Actions] })(ActionsModule);

const starting = createApp({ modules: [ActionsModule] });
stopOnSignals(starting);
const application = await starting;
await application.listen(0, '127.0.0.1');
process.stdout.write(`API  ${await application.getUrl()}/api/v1\n`);
