import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { unavailable } from '../../errors/domain-error';
import type { Exchange } from '../request/service-request';
import { ShutdownGate } from './shutdown-gate';

/** Refuses requests on kept connections during shutdown, so that the client goes elsewhere. */
@Injectable()
export class ShutdownGuard implements CanActivate {
  constructor(private readonly gate: ShutdownGate) {}

  canActivate(context: ExecutionContext): boolean {
    const [, response] = context.getArgs<Exchange>();
    if (this.gate.admit(response)) return true;
    response.setHeader('Connection', 'close');
    throw unavailable('The service is stopping.');
  }
}
