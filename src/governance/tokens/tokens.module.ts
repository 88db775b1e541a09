import { Global, Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { IssuedTokens } from '../../http/authentication/authentication';
import { TokenHolders } from './token-holders';

/**
 * Tokens from issuers that the operator trusts. Global, as authentication, which runs before all modules, needs their
 * holders.
 */
@Global()
@Module({
  imports: [AgentsModule],
  providers: [TokenHolders, { provide: IssuedTokens, useExisting: TokenHolders }],
  exports: [IssuedTokens],
})
export class TokensModule {}
