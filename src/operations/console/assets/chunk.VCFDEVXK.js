import{l as e}from"./chunk.YZ4YNIL5.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
