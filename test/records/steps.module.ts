import { Body, Controller, Injectable, Module, Param, Post } from '@nestjs/common';
import { type ActionContext, ActionHandler } from '../../src/governance/executions/handlers/action-handlers';
import { Caller } from '../../src/http/input/caller.decorator';
import { OptionalText } from '../../src/http/validation/fields';
import { LedgerService } from '../../src/ledger/ledger.service';
import { addNote, NotesModule } from '../support/application/notes.module';

/** The calls of the handler of `wait`. */
export const contexts: ActionContext[] = [];
let resolve: () => void = () => undefined;
const released = (): Promise<void> => new Promise((end) => (resolve = end));

/** Ends the handler of `wait` that runs. */
export function release(): void {
  resolve();
}

@Injectable()
class Actions {
  constructor(private readonly ledger: LedgerService) {}

  @ActionHandler('wait')
  async wait(context: ActionContext): Promise<object> {
    contexts.push(context);
    await released();
    return { waited: true };
  }

  @ActionHandler('note')
  async note({ caller, executionId }: ActionContext): Promise<object> {
    const note = await this.ledger.write(caller, async (transaction) => addNote(transaction, executionId));
    return { note: note.id };
  }

  @ActionHandler('fail')
  fail(): never {
    throw new Error('No.');
  }
}

class TextRequest {
  @OptionalText({ max: 100 })
  readonly text?: string;
}

/** A third-party module, whose requests write more than once or not at all. */
@Controller('steps')
export class StepsController {
  failing = false;

  constructor(private readonly ledger: LedgerService) {}

  @Post(':slug')
  async twice(@Caller() caller: Caller, @Param('slug') slug: string, @Body() { text = '' }: TextRequest) {
    const first = await this.ledger.write(caller, async (transaction) => addNote(transaction, `${slug} 1`, { text }));
    if (this.failing) throw new Error('Between the two.');
    const second = await this.ledger.write(caller, async (transaction) => addNote(transaction, `${slug} 2`));
    return { id: first.id, second: second.id };
  }
}

@Module({ imports: [NotesModule], controllers: [StepsController], providers: [Actions] })
export class StepsModule {}
