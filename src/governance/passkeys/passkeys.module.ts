import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { PASSKEY } from './passkey.entity';
import { PasskeyHolders, PasskeysService } from './passkeys.service';
import { PasskeysController } from './passkeys.controller';
import { Passkeys1765500000000 } from '../governance.migration';

/** What people sign approvals with. */
@Module({
  imports: [LedgerModule.forFeature({ kinds: [PASSKEY], migrations: [Passkeys1765500000000] })],
  controllers: [PasskeysController],
  providers: [PasskeysService, PasskeyHolders],
  exports: [PasskeyHolders],
})
export class PasskeysModule {}
