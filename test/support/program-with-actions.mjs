/** The built program with an action that does not end by itself, for tests that end the process meanwhile. */
import { Module } from '@nestjs/common';
import { createApp } from '../../dist/create-app.js';
import { ActionHandler } from '../../dist/executions/handlers/action-handler.decorator.js';
import { stopOnSignals } from '../../dist/start/stop-on-signals.js';

class Actions {
  hang() {
    return new Promise(() => undefined);
  }
}
ActionHandler('hang')(Actions.prototype, 'hang', Object.getOwnPropertyDescriptor(Actions.prototype, 'hang'));

class ActionsModule {}
Module({ providers: [Actions] })(ActionsModule);

const starting = createApp({ modules: [ActionsModule] });
stopOnSignals(starting);
const application = await starting;
await application.listen(0, '127.0.0.1');
process.stdout.write(`API  ${await application.getUrl()}/api/v1\n`);
