import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { RefusalRecord } from '../answers/exception.filter';
import { AccessDenials } from './access-denials';
import { UnnamedScopes } from './unnamed-scopes';

/** What is known about refused callers, for answering and counting them. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [UnnamedScopes, AccessDenials, { provide: RefusalRecord, useExisting: AccessDenials }],
  exports: [AccessDenials, RefusalRecord],
})
export class AccessModule {}
