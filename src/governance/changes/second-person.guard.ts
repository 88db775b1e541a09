import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { callerOf } from '../../ledger/kinds/caller';
import type { Exchange } from '../../http/request/service-request';
import { ChangeGates } from './change-gate';
import { FourEyes } from './four-eyes';
import { heldRequest } from './held-request';

/** Gives the caller of a request that may need a second person a gate for its commands. */
@Injectable()
export class SecondPersonGuard implements CanActivate {
  constructor(
    private readonly fourEyes: FourEyes,
    private readonly gates: ChangeGates,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const [request] = context.getArgs<Exchange>();
    const { caller } = request;
    if (!this.fourEyes.isOn || caller === undefined) return true;
    this.fourEyes.noteToken(caller);
    const { secondPerson: rule } = request.traits;
    if (rule === undefined) return true;
    const held = heldRequest(request, rule);
    const { requestId, ip, traceId } = caller;
    request.caller = callerOf(caller, { requestId, ip, traceId, gate: this.gates.gateFor(held, caller) });
    return true;
  }
}
