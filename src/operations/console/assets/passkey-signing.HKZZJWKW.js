import{a,b,c,d,e}from"./chunk.D3XDDPNB.js";import"./chunk.4RGTUKCH.js";import"./chunk.D2HOQTUG.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
