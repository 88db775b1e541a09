import{a,b,c,d,e}from"./chunk.ZUKEUHO6.js";import"./chunk.D4VF5NEV.js";import"./chunk.35GLESCP.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
