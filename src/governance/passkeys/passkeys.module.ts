import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { PASSKEY } from './passkey.entity';
import { PasskeyHolders, PasskeysService } from './passkeys.service';
import { PasskeysController } from './passkeys.controller';

/** Registers the passkeys with which people sign approvals. */
@Module({
  imports: [LedgerModule.forFeature({ kinds: [PASSKEY] })],
  controllers: [PasskeysController],
  providers: [PasskeysService, PasskeyHolders],
  exports: [PasskeyHolders],
})
export class PasskeysModule {}
