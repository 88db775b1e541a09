import { Global, Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { IssuedTokens } from '../http/authentication/issued-tokens';
import { TokenHolders } from './token-holders';

/** Tokens of issuers that the operator trusts. What asks whose they are stands before all modules; so it is global. */
@Global()
@Module({
  imports: [AgentsModule],
  providers: [TokenHolders, { provide: IssuedTokens, useExisting: TokenHolders }],
  exports: [IssuedTokens],
})
export class TokensModule {}
