"""The judge of motions: does it show the action (SA), and is it a motion as artists make them (PC)?"""
