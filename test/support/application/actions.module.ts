import { Injectable, Module } from '@nestjs/common';
import { ActionFailure, ActionHandler } from '../../../src/governance/executions/handlers/action-handlers';

/** Handlers for the three ways in which an action can end. */
@Injectable()
class Actions {
  @ActionHandler('succeed')
  succeed(): unknown {
    return { moved: 3, note: 'done' };
  }

  @ActionHandler('fail')
  fail(): never {
    throw new ActionFailure('The mailbox is full.');
  }

  @ActionHandler('hang')
  hang(): Promise<never> {
    return new Promise(() => undefined);
  }
}

@Module({ providers: [Actions] })
export class ActionsModule {}
