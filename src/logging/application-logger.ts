import { Injectable } from '@nestjs/common';
import { Logger } from 'nestjs-pino';

/** Nest tells each module and route it sets up; the banner says in five lines what an operator needs. */
const START_CONTEXTS: readonly unknown[] = ['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer'];

/** Nest's logger, writing through pino: lines written while a request is served carry its id. */
@Injectable()
export class ApplicationLogger extends Logger {
  override log(message: unknown, ...optionalParams: unknown[]): void {
    if (START_CONTEXTS.includes(optionalParams.at(-1))) {
      super.debug(message, ...optionalParams);
    } else {
      super.log(message, ...optionalParams);
    }
  }
}
